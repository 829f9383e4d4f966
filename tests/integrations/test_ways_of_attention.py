"""However attention is written beside attention that can be switched, no model is switched in part without a word."""

import contextlib
import copy
import functools
import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from semfocus import Full, TopK, apply, check, restore

WIDTH = 16


def scores(x):
    return x @ x.transpose(-2, -1) / math.sqrt(x.shape[-1])


class SoftmaxInsideForward(nn.Module):
    def forward(self, x):
        return nn.Softmax(dim=-1)(scores(x)) @ x


class SoftmaxInSequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalise = nn.Sequential(nn.Softmax(-1), nn.Dropout(0.1))

    def forward(self, x):
        return self.normalise(x @ x.transpose(1, 2)) @ x


class SoftmaxModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalise = nn.Softmax(-1)

    def forward(self, x):
        return torch.bmm(self.normalise(torch.bmm(x, x.permute(0, 2, 1))), x)


class FunctionAsAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = F.scaled_dot_product_attention

    def forward(self, x):
        return self.attend(x, x, x)


class Partial(nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = functools.partial(F.scaled_dot_product_attention, is_causal=True)

    def forward(self, x):
        return self.attend(x, x, x)


class PartialSoftmax(nn.Module):
    def __init__(self):
        super().__init__()
        self.normalise = functools.partial(torch.softmax, dim=-1)

    def forward(self, x):
        return torch.matmul(self.normalise(scores(x)), x)


FUNCTIONS = {"plain": F.scaled_dot_product_attention, "written": lambda q, k, v: (q @ k.mT).softmax(-1) @ v}


class FromADictionary(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.name = name

    def forward(self, x):
        return FUNCTIONS[self.name](x, x, x)


class Helper:
    """No module."""

    def mix(self, x):
        return scores(x).softmax(-1) @ x


class HelperObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.helper = Helper()

    def forward(self, x):
        return self.helper.mix(x)


class CallableHelper(nn.Module):
    def __init__(self):
        super().__init__()
        self.helper = Helper().mix

    def forward(self, x):
        return self.helper(x)


@torch.jit.script
def scripted_function(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.matmul(x, x.transpose(1, 2)), -1).matmul(x)


class ScriptedFunction(nn.Module):
    def forward(self, x):
        return scripted_function(x)


class ScriptedAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = scripted_function

    def forward(self, x):
        return self.mix(x)


class ByName(nn.Module):
    def forward(self, x):
        return getattr(F, "scaled_dot_product" + "_attention")(x, x, x)


class Aten(nn.Module):
    def forward(self, x):
        return torch.ops.aten.scaled_dot_product_attention(x, x, x)


class AtenSoftmax(nn.Module):
    def forward(self, x):
        return torch.ops.aten.bmm(torch.ops.aten._softmax(scores(x), -1, False), x)


class Exponentials(nn.Module):
    def forward(self, x):
        raw = scores(x)
        raised = (raw - raw.amax(-1, keepdim=True)).exp()
        return (raised / raised.sum(-1, keepdim=True)) @ x


class LogSumExp(nn.Module):
    def forward(self, x):
        raw = scores(x)
        return torch.exp(raw - raw.logsumexp(-1, keepdim=True)) @ x


class LogSoftmax(nn.Module):
    def forward(self, x):
        return F.log_softmax(scores(x), -1).exp() @ x


class Softmin(nn.Module):
    def forward(self, x):
        return F.softmin(torch.cdist(x, x), dim=-1) @ x


class Einsum(nn.Module):
    def forward(self, x):
        mixing = torch.einsum("bid,bjd->bij", x, x).softmax(2)
        return torch.einsum("bij,bjd->bid", mixing, x)


class SumOfProducts(nn.Module):
    """No matrix product after the softmax."""

    def forward(self, x):
        weights = scores(x).softmax(-1)
        return (weights.unsqueeze(-1) * x.unsqueeze(1)).sum(2)


class MaskedAndDropped(nn.Module):
    def forward(self, x):
        future = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        weights = scores(x).masked_fill(future, -torch.inf).float().softmax(-1).to(x.dtype)
        weights = F.dropout(weights, 0.1, self.training)
        return torch.where(future, torch.zeros_like(weights), weights) @ x


class Heads(nn.Module):
    """Split, moved and reshaped on the way."""

    def forward(self, x):
        heads = x.unflatten(-1, (4, 4)).permute(0, 2, 1, 3)
        weights = (heads @ heads.mT).softmax(-1)
        mixed = torch.bmm(weights.flatten(0, 1), heads.flatten(0, 1))
        return mixed.unflatten(0, (len(x), 4)).permute(0, 2, 1, 3).flatten(2)


class WithSink(nn.Module):
    def forward(self, x):
        raw = scores(x)
        return torch.cat([raw, raw.new_zeros(*raw.shape[:-1], 1)], -1).softmax(-1)[..., :-1] @ x


class Functional(nn.Module):
    """The function behind nn.MultiheadAttention."""

    def __init__(self):
        super().__init__()
        self.inside, self.outside = (
            nn.Parameter(torch.eye(WIDTH).repeat(3, 1)),
            nn.Parameter(torch.eye(WIDTH)),
        )

    def forward(self, x):
        moved = x.transpose(0, 1)
        mix = getattr(F, "multi_head_attention" + "_forward")
        zeros = torch.zeros(3 * WIDTH)
        arguments = (WIDTH, 4, self.inside, zeros, None, None, False, 0.0, self.outside, zeros[:WIDTH])
        return mix(moved, moved, moved, *arguments, need_weights=False)[0].transpose(0, 1)


class HiddenModule(nn.Module):
    """A module in a list, which is no submodule."""

    def __init__(self):
        super().__init__()
        self.parts = [nn.MultiheadAttention(WIDTH, 4, batch_first=True)]

    def forward(self, x):
        return self.parts[0](x, x, x, need_weights=False)[0]


class OwnFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return scores(x).softmax(-1) @ x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class AutogradFunction(nn.Module):
    def forward(self, x):
        return OwnFunction.apply(x)


class Checkpointed(nn.Module):
    def forward(self, x):
        from torch.utils.checkpoint import checkpoint

        return checkpoint(Helper().mix, x, use_reentrant=False)


class Lambda(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = lambda x: torch.softmax(scores(x), -1).matmul(x)

    def forward(self, x):
        return self.mix(x)


class LearnedQueries(nn.Module):
    """Scores of parameters and tokens."""

    def __init__(self):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(3, WIDTH, generator=torch.Generator().manual_seed(2)))
        self.mix = [self._mix]

    def _mix(self, x):
        return self._weights(x) @ x

    def _weights(self, x):
        return torch.softmax(self.queries @ x.mT, -1)

    def forward(self, x):
        return self.mix[0](x)


class LearnedQueriesRight(LearnedQueries):
    def _weights(self, x):
        return torch.softmax(x @ self.queries.mT, 1).mT


class LearnedQueriesMoved(LearnedQueries):
    def _weights(self, x):
        return torch.softmax((x @ self.queries.mT).permute(0, 2, 1), -1)


class Preallocated(nn.Module):
    """Weights written into memory that was there before, row by row."""

    def __init__(self):
        super().__init__()
        self.mix = [self._mix]

    def _mix(self, x):
        weights = torch.zeros(len(x), x.shape[1], x.shape[1])
        for row in range(x.shape[1]):
            weights[:, row] = scores(x)[:, row].softmax(-1)
        return weights @ x

    def forward(self, x):
        return self.mix[0](x)


class Additive(nn.Module):
    def __init__(self):
        super().__init__()
        self.readout = nn.Linear(WIDTH, 1)
        self.mix = [
            lambda x: self.readout(torch.tanh(x[:, None] + x[:, :, None])).squeeze(-1).softmax(-1) @ x
        ]

    def forward(self, x):
        return self.mix[0](x)


class Written(nn.Module):
    """One of the functions below, which no reading of code finds."""

    def __init__(self, function):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.over_keys, self.fewer = nn.Linear(6, 6), nn.Parameter(torch.ones(6, 3))
        self.register_buffer("keys", torch.zeros(2, 9, WIDTH))
        self.register_buffer("values", torch.zeros(2, 9, WIDTH))
        self.function = [function]

    def forward(self, x):
        return self.function[0](self, x)

    def kept(self):
        keys, values = self.keys[:, :6], self.values[:, :6]
        return lambda x: (self.query(x) @ keys.mT).softmax(-1) @ values


def cache(self, x):
    with torch.no_grad():
        self.keys[:, :6], self.values[:, :6] = self.key(x), self.value(x)
    return self.kept()(x)


def copied_cache(self, x):
    with torch.no_grad():
        kept = self.kept()  # views that are older than what is written
        self.keys[:, :6].copy_(self.key(x))
        self.values[:, :6].copy_(self.value(x))
    return kept(x)


def indexed_cache(self, x):
    self.keys[:, torch.arange(6)] = self.key(x).detach()
    self.values[:, torch.arange(6)] = self.value(x).detach()
    return self.kept()(x)


def data_of_a_cache(self, x):
    self.keys.data[:, :6], self.values.data[:, :6] = self.key(x).data, self.value(x).data
    return self.kept()(x)


def scores_under_a_linear_layer(self, x):
    return self.over_keys(scores(x)).softmax(-1) @ self.value(x)


def scores_of_fewer_keys(self, x):
    return (scores(x) @ self.fewer).softmax(-1) @ (self.fewer.mT @ self.value(x))


def weights_of_a_linear_layer(self, x):
    return self.query(x)[..., :6].softmax(-1) @ self.value(x)


def sparse(self, x):
    return torch.stack([torch.sparse.mm(scores(each).softmax(-1).to_sparse(), each) for each in x])


def convolution(self, x):
    return torch.cat([F.conv1d(each[None], scores(each).softmax(-1)[:, :, None]) for each in x])


def bag_of_embeddings(self, x):
    rows = torch.arange(6).repeat(6, 1)
    weights = scores(x).softmax(-1)
    bags = [F.embedding_bag(rows, x[i], per_sample_weights=weights[i], mode="sum") for i in range(2)]
    return torch.stack(bags)


def neighbourhood(self, x):
    keys, values = (F.pad(each, (0, 0, 1, 1)).unfold(1, 3, 1) for each in (self.key(x), self.value(x)))
    weights = (self.query(x)[..., None] * keys).sum(2).softmax(-1)
    return (weights[:, :, None] * values).sum(-1)


def graph(self, x):
    nodes = self.value(x).flatten(0, 1)
    count = len(nodes)
    to, of = (
        each.flatten() for each in torch.meshgrid(torch.arange(count), torch.arange(count), indexing="ij")
    )
    raised = F.leaky_relu(self.query(x).flatten(0, 1)[to, 0] + self.key(x).flatten(0, 1)[of, 0]).exp()
    weights = raised / torch.zeros(count).scatter_add(0, to, raised)[to]
    into = to[:, None].expand(-1, WIDTH)
    return torch.zeros_like(nodes).scatter_add(0, into, weights[:, None] * nodes[of]).view_as(x)


def one_key_after_the_other(self, x):
    weights, values = scores(x).softmax(-1), self.value(x)
    return sum(weights[:, :, key, None] * values[:, key, None] for key in range(6))


def added_products(self, x):
    weights, output = scores(x).softmax(-1), torch.zeros_like(x)
    for key in range(6):
        of_key = weights[:, :, key, None].expand_as(x)
        output = torch.addcmul(output, of_key, x[:, key, None].expand_as(x))
    return output


def normalised(raised, x):
    return (raised / raised.sum(-1, keepdim=True)) @ x


def power(self, x):
    return normalised(torch.pow(torch.tensor(math.e), scores(x)), x)


def power_of_a_number(self, x):
    return normalised(math.e ** scores(x), x)


def expm1(self, x):
    return normalised(torch.expm1(scores(x)) + 1, x)


def distances(self, x):
    return normalised(torch.exp(-torch.cdist(x, x)), x)


WRITTEN = (
    *(cache, copied_cache, indexed_cache, data_of_a_cache, scores_under_a_linear_layer, scores_of_fewer_keys),
    *(weights_of_a_linear_layer, sparse, convolution, bag_of_embeddings, neighbourhood, graph),
    *(one_key_after_the_other, added_products, power, power_of_a_number, expm1, distances),
)


@torch.library.custom_op("tests_flash_attn::forward", mutates_args=())
def flash(x: torch.Tensor) -> torch.Tensor:
    return scores(x).softmax(-1) @ x


class OperationOfALibrary(nn.Module):
    def forward(self, x):
        return torch.ops.tests_flash_attn.forward(x)


class AsHook(nn.Identity):
    """Attention in a hook, not in a forward."""

    def __init__(self):
        super().__init__()
        self.register_forward_hook(lambda module, args, output: Helper().mix(output))


@torch.library.custom_op("tests_semfocus::mixing", mutates_args=())
def mixing(x: torch.Tensor) -> torch.Tensor:
    return scores(x).softmax(-1) @ x


class CustomOperation(nn.Module):
    def forward(self, x):
        return torch.ops.tests_semfocus.mixing(x)


WAYS = {
    each.__name__: each
    for each in (
        SoftmaxInsideForward,
        SoftmaxInSequential,
        SoftmaxModule,
        FunctionAsAttribute,
        Partial,
        PartialSoftmax,
        HelperObject,
        CallableHelper,
        ScriptedFunction,
        ScriptedAttribute,
        ByName,
        Aten,
        AtenSoftmax,
        Exponentials,
        LogSumExp,
        LogSoftmax,
        Softmin,
        Einsum,
        SumOfProducts,
        MaskedAndDropped,
        Heads,
        WithSink,
        Functional,
        HiddenModule,
        AutogradFunction,
        Checkpointed,
        Lambda,
        AsHook,
        LearnedQueries,
        LearnedQueriesRight,
        LearnedQueriesMoved,
        Additive,
        Preallocated,
    )
} | {
    "FunctionOfADictionary": lambda: FromADictionary("plain"),
    "WrittenInADictionary": lambda: FromADictionary("written"),
    "OperationOfALibrary": OperationOfALibrary,
}
WAYS |= {each.__name__: functools.partial(Written, each) for each in WRITTEN}
CONTEXTS = {"grad": torch.enable_grad, "no_grad": torch.no_grad, "inference": torch.inference_mode}


def beside(module):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True)
    return nn.Sequential(nn.TransformerEncoder(layer, 1, enable_nested_tensor=False), module)


def tokens():
    return torch.randn(2, 6, WIDTH, generator=torch.Generator().manual_seed(1))


def seeded(model):
    torch.manual_seed(0)
    return model(tokens())


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_no_model_is_switched_in_part_without_a_word(way, context, training):
    model = beside(WAYS[way]()).train(training)
    with CONTEXTS[context]():
        before = seeded(model)
        try:
            apply(model, TopK(2))
        except ValueError as error:
            assert "cannot be switched: 1" in str(error)  # noqa: PT017  (either of two errors)
        else:
            for _ in range(2):  # it is no matter of the first time
                with pytest.raises(
                    ValueError, match=r"in part only: \w+ .*\(test_ways_of_attention.py:\d+\)"
                ):
                    model(tokens())
            restore(model)
        assert torch.equal(seeded(model), before)
    assert torch._C._len_torch_dispatch_stack() == 0


@pytest.mark.parametrize(
    "way", ["SoftmaxInsideForward", "Einsum", "Additive", "LearnedQueries", "Exponentials"]
)
def test_a_first_pass_over_a_single_token_is_not_the_last_that_is_watched(way):
    model = beside(WAYS[way]()).eval()
    apply(model, TopK(2))
    report = check(model, tokens()[:, :1])
    assert not report.ok or any("a single key" in each for each in report.not_tested)
    with contextlib.suppress(ValueError):
        model(tokens()[:, :1])
    with pytest.raises(ValueError, match="in part only"):
        model(tokens())


@pytest.mark.parametrize("length", [2, 3, 4, 6])
def test_weights_cut_from_a_linear_layer_are_found_at_any_length(length):
    def cut(self, x):
        return self.query(x)[..., : x.shape[1]].softmax(-1) @ self.value(x)

    model = beside(Written(cut)).eval()
    apply(model, TopK(2))
    with pytest.raises(ValueError, match="in part only"):
        model(tokens()[:, :length])


@pytest.mark.parametrize("way", ["Lambda", "Exponentials", "HelperObject"])
def test_tokens_that_are_whole_numbers_are_inputs_too(way):
    model = nn.Sequential(nn.Embedding(9, WIDTH), beside(WAYS[way]())).eval()
    apply(model, TopK(2))
    with pytest.raises(ValueError, match="in part only"):
        model(torch.arange(6).repeat(2, 1))


def test_what_cannot_be_seen_is_said():
    model = beside(CustomOperation()).eval()
    apply(model, TopK(2))
    with pytest.warns(UserWarning, match="calls tests_semfocus::mixing, and semfocus cannot see"):
        model(tokens())


class Router(nn.Module):
    """A mixture of experts, in two ways of writing it."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = (
            nn.Linear(WIDTH, 4),
            nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4)),
        )

    def forward(self, x):
        weights = self.gate(x).softmax(-1)
        outputs = torch.stack([expert(x) for expert in self.experts], -2)
        best, which = weights.topk(2)
        best = best / best.sum(-1, keepdim=True)
        chosen = outputs.gather(-2, which.unsqueeze(-1).expand(*which.shape, WIDTH))
        return sum(weights[..., i, None] * outputs[..., i, :] for i in range(4)) + (
            best[..., None] * chosen
        ).sum(-2)


class HyperConnection(nn.Module):
    """Streams that are mixed by a matrix that a linear layer makes of them, as in DeepSeek-V4."""

    def __init__(self):
        super().__init__()
        self.mixing = nn.Linear(WIDTH, 9)

    def forward(self, x):
        streams = torch.stack([x, x + 1, x + 2], -2)
        mixing = (self.mixing(x) * 2.0).unflatten(-1, (3, 3)).softmax(-1)
        return torch.matmul(mixing / mixing.sum(-2, keepdim=True), streams).mean(-2)


class GatedPooling(nn.Module):
    """Every feature pooled by gates of its own, before attention that is switched; as DeepSeek-V4 compresses keys."""

    def __init__(self):
        super().__init__()
        self.values, self.gates = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.after = nn.MultiheadAttention(WIDTH, 4, batch_first=True)

    def forward(self, x):
        gates = self.gates(x).new_zeros(x.shape)
        gates[:, 1:] = self.gates(x)[:, 1:]
        pooled = (self.values(x) * gates.softmax(1)).sum(1, keepdim=True)
        return self.after(x, pooled, pooled, need_weights=False)[0]


class RouterOfTheBest(Router):
    """Scores of the best first, then the softmax; experts mixed by a matrix product."""

    def forward(self, x):
        best, which = self.gate(x).topk(2)
        outputs = torch.stack([expert(x) for expert in self.experts], -2)
        chosen = outputs.gather(-2, which.unsqueeze(-1).expand(*which.shape, WIDTH))
        return torch.einsum("ble,bled->bld", best.softmax(-1), chosen)


class SingleExpert(nn.Module):
    """The best of four, under a softmax over one."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = (
            nn.Linear(WIDTH, 4),
            nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(4)),
        )

    def forward(self, x):
        best, which = self.gate(x).topk(1)
        outputs = torch.stack([expert(x) for expert in self.experts], -2)
        return (
            best.softmax(-1) * outputs.gather(-2, which[..., None].expand(*which.shape, WIDTH))[..., 0, :]
        ) + x


class MixtureOfLayers(nn.Module):
    """As in ELMo."""

    def __init__(self):
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        layers = torch.stack([x, x + 1, 2 * x])
        weights = self.weights.softmax(0)
        return torch.einsum("k,kbld->bld", weights, layers) + (weights[:, None, None, None] * layers).sum(0)


class SoftEmbedding(nn.Module):
    """A mean of parameters under a softmax over classes."""

    def __init__(self):
        super().__init__()
        self.classes = nn.Embedding(5, WIDTH)

    def forward(self, x):
        return F.softmax(F.linear(x, self.classes.weight), -1) @ self.classes.weight


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(WIDTH, 1)

    def forward(self, x):
        return (torch.sigmoid(self.gate(x)) * x).mean(1, keepdim=True) + x


class Head(nn.Module):
    def forward(self, x):
        return (x @ x.mT).log_softmax(-1)


@pytest.mark.parametrize("dtype", [None, torch.bfloat16], ids=["", "autocast"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize(
    "module",
    [
        Router,
        RouterOfTheBest,
        SingleExpert,
        MixtureOfLayers,
        HyperConnection,
        GatedPooling,
        SoftEmbedding,
        Gate,
        Head,
    ],
)
def test_what_is_no_attention_stops_nobody(module, training, dtype):
    model = beside(module()).train(training)
    apply(model, TopK(2))
    with warnings.catch_warnings(), torch.autocast("cpu", dtype, enabled=dtype is not None):
        warnings.simplefilter("error")
        for _ in range(2):
            model(tokens())
            model.train(not training)


def test_the_watch_changes_no_bit():
    model = beside(nn.Identity()).eval()
    for pattern in (TopK(2), "top_p(0.5)", Full()):
        apply(model, pattern)
        first = model(tokens())
        assert torch.equal(model(tokens()), first)
        assert torch.equal(model(tokens()), first)


def test_a_pass_that_fails_leaves_no_watch_behind():
    model = beside(nn.Identity()).eval()
    apply(model, TopK(2))
    with pytest.raises(ValueError, match=r"must be .* wide"):
        model(torch.ones(2, 6, WIDTH + 1))
    assert torch._C._len_torch_dispatch_stack() == 0
    model(tokens())


class Later(nn.Module):
    """Attention of others that not every call reaches."""

    def __init__(self):
        super().__init__()
        self.switched, self.other = beside(nn.Identity()), Written(distances)

    def forward(self, x, is_short=False):
        x = self.switched(x)
        return x if is_short else self.features(x)

    def features(self, x):
        return self.other(x)


def added(model):
    model(tokens(), is_short=True)
    model.switched.append(WAYS["Lambda"]())


def replaced_in_a_list(model):
    model(tokens(), is_short=True)
    model.switched[0].layers[0] = nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True).eval()


#: what happens first, and the call that computes it
LATE = {
    "another_branch": (lambda model: model(tokens(), is_short=True), lambda model: model(tokens())),
    "a_method": (lambda model: None, lambda model: model.features(tokens())),
    "forward_itself": (lambda model: None, lambda model: model.forward(tokens())),
    "added": (added, lambda model: model(tokens(), is_short=True)),
    "replaced": (replaced_in_a_list, lambda model: model(tokens(), is_short=True)),
    "a_copy": (lambda model: model(tokens(), is_short=True), lambda model: copy.deepcopy(model)(tokens())),
}


@pytest.mark.parametrize("way", LATE)
def test_the_first_pass_of_every_part_is_watched(way):
    model = Later().eval()
    apply(model, TopK(2))
    first, call = LATE[way]
    first(model)
    with pytest.raises(ValueError, match="in part only"):
        call(model)
    restore(model)
    hooks = [*model._forward_hooks, *(each for part in model.modules() for each in part._forward_pre_hooks)]
    assert not hooks


@pytest.mark.parametrize("way", ["compile", "export", "vmap"])
def test_what_nobody_can_watch_is_said_once(way):
    model = beside(nn.Identity()).eval()
    apply(model, TopK(2))
    torch._dynamo.reset()
    calls = {
        "compile": lambda: torch.compile(model, backend="eager", fullgraph=True)(tokens()),
        "export": lambda: torch.export.export(model, (tokens(),)),
        "vmap": lambda: torch.vmap(model)(tokens()[:, None]),
    }
    with pytest.warns(UserWarning, match="semfocus could not watch it"):
        calls[way]()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*semfocus")
        calls[way]()
