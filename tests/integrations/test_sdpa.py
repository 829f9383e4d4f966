"""sdpa serves what a model computes through F.scaled_dot_product_attention, with that function's own meaning."""

import functools
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import semfocus
from semfocus import Banded, Full, TopK, attention, capture, check, sdpa

WIDTH, HEADS = 16, 4


class FusedAttention(nn.Module):
    """As timm writes it: the function is an attribute, chosen once."""

    def __init__(self):
        super().__init__()
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.fused = functools.partial(F.scaled_dot_product_attention, dropout_p=0.0)

    def forward(self, x):
        query, key, value = self.qkv(x).unflatten(-1, (3, HEADS, WIDTH // HEADS)).permute(2, 0, 3, 1, 4)
        return self.proj(self.fused(query, key, value).transpose(1, 2).flatten(2))


class ImageBlock(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn = FusedAttention()
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 32), nn.GELU(), nn.Linear(32, WIDTH))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class ImageModel(nn.Module):
    """A ViT."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, 4)
        self.first = nn.Parameter(torch.zeros(1, 1, WIDTH))
        self.places = nn.Parameter(torch.randn(1, 17, WIDTH) * 0.1)
        self.blocks = nn.Sequential(ImageBlock(), ImageBlock())
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, images):
        x = self.patches(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.blocks(x)[:, 0])


class CausalSelfAttention(nn.Module):
    """As nanoGPT writes it."""

    def __init__(self):
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.dropout = 0.1

    def forward(self, x):
        batch, length, width = x.size()
        q, k, v = self.c_attn(x).split(width, dim=2)
        q, k, v = (each.view(batch, length, HEADS, width // HEADS).transpose(1, 2) for each in (q, k, v))
        y = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=None, dropout_p=self.dropout if self.training else 0, is_causal=True
        )
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class TextModel(nn.Module):
    """A nanoGPT."""

    def __init__(self, checkpointed=None):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(11, WIDTH), nn.Embedding(32, WIDTH)
        self.attn = nn.ModuleList(CausalSelfAttention() for _ in range(2))
        self.lm_head = nn.Linear(WIDTH, 11)
        self.checkpointed = checkpointed

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for layer in self.attn:
            if self.checkpointed is None:
                x = x + layer(F.layer_norm(x, (WIDTH,)))
            else:
                x = x + checkpoint(layer, F.layer_norm(x, (WIDTH,)), use_reentrant=self.checkpointed)
        return self.lm_head(x)


MODELS = {
    "image": (ImageModel, lambda: torch.randn(2, 3, 16, 16, generator=torch.Generator().manual_seed(1))),
    "text": (TextModel, lambda: torch.randint(11, (2, 9), generator=torch.Generator().manual_seed(1))),
}


def build(name):
    torch.manual_seed(0)
    model, inputs = MODELS[name]
    return model().eval(), inputs()


@pytest.mark.parametrize("name", MODELS)
def test_full_attention_is_what_the_model_computes(name):
    model, x = build(name)
    stock = model(x)
    with sdpa(Full()):
        torch.testing.assert_close(model(x), stock, atol=1e-5, rtol=1e-5)
    assert torch.equal(model(x), stock)


@pytest.mark.parametrize("name", MODELS)
def test_every_layer_keeps_k_keys_and_check_agrees(name):
    model, x = build(name)
    stock = model(x)
    with sdpa(TopK(2)):
        output = model(x)
        with capture(model) as traces:
            captured = model(x)
        report = check(model, x)
    assert not torch.allclose(output, stock, atol=1e-3)
    torch.testing.assert_close(captured, output, atol=1e-5, rtol=1e-5)
    names = ["blocks.0.attn", "blocks.1.attn"] if name == "image" else ["attn.0", "attn.1"]
    assert [(trace.layer, trace.name) for trace in traces] == list(enumerate(names))
    assert all(int((trace.weights > 0).sum(-1).max()) == 2 for trace in traces)
    assert report.ok, report
    assert any("what the original model gives" in each for each in report.tested)
    assert ("whether later tokens change earlier outputs" in report.tested) == (name == "text")
    with pytest.raises(ValueError, match="has no attention by semfocus"):
        capture(model).__enter__()


def oracle(query, key, value, k, allowed=None, bias=0.0, scale=None):
    """Softmax over the k highest of the allowed scores, written out."""
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale) + bias
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -torch.inf)
    lowest = scores.topk(min(k, scores.shape[-1]), -1).values[..., -1:]
    return scores.masked_fill(scores < lowest, -torch.inf).softmax(-1).nan_to_num(0.0) @ value


def tensors(num_queries=5, num_keys=7, key_heads=HEADS):
    draw = torch.Generator().manual_seed(3)
    shapes = (2, HEADS, num_queries, 4), (2, key_heads, num_keys, 4), (2, key_heads, num_keys, 4)
    return [torch.randn(shape, generator=draw, dtype=torch.float64) for shape in shapes]


def test_causal_counts_from_the_first_query_and_key():
    query, key, value = tensors()
    with sdpa(TopK(2)):
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    torch.testing.assert_close(found, oracle(query, key, value, 2, torch.ones(5, 7).tril().bool()))
    assert not torch.allclose(found, attention(query, key, value, TopK(2), causal=True))


def test_masks_scales_and_grouped_heads_mean_what_they_do_there():
    query, key, value = tensors()
    draw = torch.Generator().manual_seed(4)
    allowed = torch.rand(2, 1, 5, 7, generator=draw) > 0.4
    bias = torch.randn(5, 7, generator=draw, dtype=torch.float64)
    few = tensors(key_heads=2)
    repeated = [few[0], *(each.repeat_interleave(2, 1) for each in few[1:])]
    with sdpa(TopK(2)):
        served = F.scaled_dot_product_attention
        torch.testing.assert_close(served(query, key, value, allowed), oracle(query, key, value, 2, allowed))
        torch.testing.assert_close(
            served(query, key, value, attn_mask=bias), oracle(query, key, value, 2, bias=bias)
        )
        torch.testing.assert_close(
            served(query, key, value, scale=3.0), oracle(query, key, value, 2, scale=3.0)
        )
        torch.testing.assert_close(served(*few, enable_gqa=True), oracle(*repeated, 2))
        with pytest.raises(ValueError, match="not both"):
            served(query, key, value, allowed, is_causal=True)


def test_gradients_are_those_of_the_definition():
    query, key, value = (each.requires_grad_() for each in tensors())
    with sdpa(TopK(3)):
        found = torch.autograd.grad(
            F.scaled_dot_product_attention(query, key, value).square().sum(), (query, key, value)
        )
    expected = torch.autograd.grad(oracle(query, key, value, 3).square().sum(), (query, key, value))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_positions_of_two_lengths_are_refused():
    query, key, value = tensors()
    with sdpa(Banded(3)), pytest.raises(ValueError, match="counts positions"):
        F.scaled_dot_product_attention(query, key, value)


class WrittenOut(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = FusedAttention()

    def forward(self, x):
        x = self.inner(x)
        return torch.softmax(x @ x.mT, -1) @ x


def test_attention_that_is_written_out_is_refused_with_its_line():
    model, x = WrittenOut().eval(), torch.randn(2, 6, WIDTH)
    stock = model(x)
    with sdpa(TopK(2)):
        with pytest.raises(ValueError, match=r"sdpa does not serve: WrittenOut \(test_sdpa.py:\d+\)"):
            model(x)
        assert not check(model, x).ok
    assert torch.equal(model(x), stock)
    layer = nn.MultiheadAttention(WIDTH, 4, batch_first=True).eval()
    with sdpa(TopK(2)), pytest.raises(ValueError, match="sdpa does not serve"):
        layer(x, x, x)


def gradients(model, x, inside):
    model.zero_grad()
    with sdpa(TopK(2)):
        loss = model(x).square().mean()
        if inside:
            loss.backward()
    if not inside:
        loss.backward()
    return [each.grad.clone() for each in model.parameters()]


@pytest.mark.parametrize("inside", [True, False])
def test_checkpointing_computes_the_same_again_inside_and_after_the_block(inside):
    plain, x = build("text")
    torch.manual_seed(0)
    model = TextModel(checkpointed=False).eval()
    expected = gradients(plain, x, inside)
    for one, other in zip(gradients(model, x, inside), expected, strict=True):
        torch.testing.assert_close(one, other)
    plain(x).square().mean().backward()  # full attention has other gradients
    assert not torch.allclose(plain.wte.weight.grad - expected[0], expected[0], atol=1e-5)
    with pytest.raises(ValueError, match="use_reentrant=False"):
        gradients(TextModel(checkpointed=True).eval(), x, True)


class Recomputed(torch.autograd.Function):
    """A checkpoint of somebody's own."""

    @staticmethod
    def forward(ctx, function, x):
        ctx.function = function
        ctx.save_for_backward(x)
        with torch.no_grad():
            return function(x)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = (each.detach().requires_grad_() for each in ctx.saved_tensors)
        with torch.enable_grad():
            output = ctx.function(x)
        return None, torch.autograd.grad(output, x, gradient)[0]


def attend(x):
    return F.scaled_dot_product_attention(x, x, x)


def attend_in_a_block(x):
    with sdpa(TopK(2)):
        return attend(x)


def test_what_is_computed_again_elsewhere_is_refused_unless_it_opens_the_block():
    x = tensors()[0].requires_grad_()
    with sdpa(TopK(2)), pytest.raises(ValueError, match=r"inside a torch.autograd.Function"):
        Recomputed.apply(attend, x)
    expected = torch.autograd.grad(attend_in_a_block(x).square().sum(), x)
    again = (Recomputed.apply, lambda function, each: checkpoint(function, each, use_reentrant=True))
    for apply in again:
        x.grad = None
        apply(attend_in_a_block, x).square().sum().backward()
        torch.testing.assert_close(x.grad, expected[0])


def test_no_way_past_the_block():
    x = torch.randn(6, 2, WIDTH)
    layer = nn.MultiheadAttention(WIDTH, HEADS).eval()
    weights = layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0
    weights += layer.out_proj.weight, layer.out_proj.bias
    query, key, value = tensors()
    with sdpa(TopK(2)):
        with pytest.raises(ValueError, match=r"past semfocus\.sdpa"):
            F.multi_head_attention_forward(x, x, x, WIDTH, HEADS, *weights)
        for operation in (
            torch.ops.aten.scaled_dot_product_attention,
            torch.ops.aten.scaled_dot_product_attention.default,
        ):
            torch.testing.assert_close(operation(query, key, value), oracle(query, key, value, 2))
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, HEADS), 1, enable_nested_tensor=False)
    semfocus.apply(encoder.eval(), TopK(3))
    with sdpa(TopK(2)), pytest.raises(ValueError, match=r"was switched by semfocus\.apply"):
        encoder(x)
    encoder(x)


class Jagged(nn.Module):
    """Sequences of two lengths, as one nested tensor."""

    def __init__(self, attend):
        super().__init__()
        self.norm, self.attend = nn.LayerNorm(WIDTH), attend

    def forward(self, x):
        return self.attend(self.norm(torch.nested.nested_tensor([x[0], x[1, :4]], layout=torch.jagged)))


@pytest.mark.parametrize("context", [torch.enable_grad, torch.inference_mode])
def test_nested_tensors_are_refused_and_may_be_elsewhere(context):
    x = torch.randn(2, 6, WIDTH)
    model = Jagged(lambda x: F.scaled_dot_product_attention(*[x.unflatten(-1, (1, -1)).transpose(1, 2)] * 3))
    plain = Jagged(lambda x: x.sum(1))
    with context(), sdpa(TopK(2)):
        with pytest.raises(ValueError, match="does not serve nested tensors"):
            model(x)
        assert plain(x).shape == (2, WIDTH)
    with pytest.raises(ValueError, match="nested tensors are not served"):
        semfocus.attention(*[torch.nested.nested_tensor([x[0], x[1, :4]], layout=torch.jagged)] * 3)


def test_another_thread_is_refused():
    model, x = build("text")
    with sdpa(TopK(2)), ThreadPoolExecutor(1) as pool:
        with pytest.raises(ValueError, match=r"sdpa does not serve: .* in its own thread"):
            pool.submit(model, x).result()
        model(x)
        with pytest.raises(ValueError, match="in another thread"):
            pool.submit(model, x).result()


@pytest.mark.parametrize("as_floats", [False, True])
def test_padding_that_a_pattern_cannot_count_is_refused(as_floats):
    query, key, value = tensors(6, 6)
    for first, pattern in ((True, "block_local(3)"), (False, "banded(3)+G1")):
        allowed = torch.ones(2, 1, 1, 6, dtype=torch.bool)
        allowed[1, ..., 0 if first else -1] = False
        mask = torch.zeros(2, 1, 1, 6).masked_fill(~allowed, -1e9).double() if as_floats else allowed
        with sdpa(pattern):
            with pytest.raises(ValueError, match="in this batch"):
                F.scaled_dot_product_attention(query, key, value, mask)
            F.scaled_dot_product_attention(query, key, value, torch.ones(6, 6, dtype=torch.bool))


def test_a_row_of_the_smallest_number_is_a_mean_as_in_torch():
    query, key, value = tensors(6, 6)
    mask = torch.zeros(6, 6, dtype=torch.float64)
    mask[0] = torch.finfo(torch.float64).min
    stock = F.scaled_dot_product_attention(query, key, value, mask)
    with sdpa(Full()):
        torch.testing.assert_close(F.scaled_dot_product_attention(query, key, value, mask), stock)


def test_blocks_nest_and_leave_nothing_behind():
    query, key, value = tensors()
    with sdpa(TopK(3)):
        with sdpa(TopK(1)):
            inner = F.scaled_dot_product_attention(query, key, value)
        outer = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(inner, oracle(query, key, value, 1))
    torch.testing.assert_close(outer, oracle(query, key, value, 3))
    with pytest.raises(ValueError, match="must be a Pattern"), semfocus.sdpa(3):
        pass
    assert torch.equal(
        F.scaled_dot_product_attention(query, key, value), F.scaled_dot_product_attention(query, key, value)
    )


def test_dropout_drops():
    query, key, value = tensors()
    with sdpa(TopK(3)):
        torch.manual_seed(0)
        first = F.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
        assert not torch.allclose(first, F.scaled_dot_product_attention(query, key, value))


def test_one_graph_under_the_compiler():
    model, x = build("text")
    torch._dynamo.reset()
    with sdpa(TopK(2)):
        compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
        with pytest.warns(UserWarning, match="could not watch it"):
            found = compiled(x)
        expected = model(x)
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(model(x), expected, atol=1e-3)
