"""semfocus.MultiheadAttention against torch's: parameters, outputs, gradients, masks, weights."""

import inspect

import pytest
import torch
from torch import nn

import semfocus
from semfocus import Banded, Full, TopK, capture

OPTIONS = {
    "plain": {},
    "batch first": {"batch_first": True},
    "no bias": {"bias": False},
    "other widths": {"kdim": 6, "vdim": 10},
    "bias keys": {"add_bias_kv": True},
    "zero keys": {"add_zero_attn": True, "batch_first": True},
    "both": {"add_bias_kv": True, "add_zero_attn": True},
}


def pair(**options):
    """Torch's module and ours, built from the same random numbers."""
    modules = []
    for cls in (nn.MultiheadAttention, semfocus.MultiheadAttention):
        torch.manual_seed(0)
        modules.append(cls(8, 2, **options).double())
    return modules


def inputs(module, num_queries=5, num_keys=7, batch=3):
    generator = torch.Generator().manual_seed(1)

    def draw(length, width):
        shape = (batch, length, width) if module.batch_first else (length, batch, width)
        return torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)

    return draw(num_queries, 8), draw(num_keys, module.kdim), draw(num_keys, module.vdim)


def assert_same(stock, ours, tensors, **call):
    """Outputs, weights and the gradients of inputs and parameters."""
    found = []
    for module in (stock, ours):
        output, weights = module(*tensors, **call)
        leaves = [*tensors, *module.parameters()]
        gradients = torch.autograd.grad(output.square().sum(), leaves, allow_unused=True)
        found.append([output, weights, *gradients])
    for expected, actual in zip(*found, strict=True):
        assert (expected is None) == (actual is None)
        if expected is not None:
            torch.testing.assert_close(actual, expected, atol=1e-12, rtol=1e-10)


def test_the_constructor_and_the_call_are_those_of_torch():
    stock, ours = nn.MultiheadAttention, semfocus.MultiheadAttention
    added = [
        name for name in inspect.signature(ours).parameters if name not in inspect.signature(stock).parameters
    ]
    assert added == ["pattern", "inverse_temperature"]
    names = [
        [(each.name, each.default) for each in inspect.signature(cls.forward).parameters.values()]
        for cls in (stock, ours)
    ]
    assert names[0] == names[1]


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_parameters_start_alike_and_load_both_ways(options):
    stock, ours = pair(**options)
    assert stock.state_dict().keys() == ours.state_dict().keys()
    for name, tensor in stock.state_dict().items():
        assert torch.equal(tensor, ours.state_dict()[name]), name
    ours.load_state_dict(stock.state_dict(), strict=True)
    stock.load_state_dict(ours.state_dict(), strict=True)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("need_weights", [True, False])
def test_full_attention_is_torchs(options, need_weights):
    stock, ours = pair(**options)
    tensors = inputs(ours)
    assert_same(stock, ours, tensors, need_weights=need_weights, average_attn_weights=False)
    assert_same(stock.eval(), ours.eval(), tensors, need_weights=need_weights)


PADDING = torch.tensor([[False] * 7, [False] * 4 + [True] * 3, [True] * 2 + [False] * 5])
FORBIDDEN = torch.arange(7) > torch.arange(5).unsqueeze(-1) + 2
MINUS_INFINITY = torch.zeros(5, 7, dtype=torch.float64).masked_fill(FORBIDDEN, -torch.inf)
MASKS = {
    "padding": {"key_padding_mask": PADDING},
    "two dimensions": {"attn_mask": FORBIDDEN},
    "three dimensions": {"attn_mask": FORBIDDEN.expand(6, 5, 7)},
    "both": {"attn_mask": FORBIDDEN, "key_padding_mask": PADDING},
    "minus infinity": {"attn_mask": MINUS_INFINITY},
    "causal hint": {"attn_mask": FORBIDDEN, "is_causal": True, "need_weights": True},
    "a bias": {"attn_mask": MINUS_INFINITY + torch.linspace(0, 3, 7, dtype=torch.float64)},
    "a bias of keys": {"key_padding_mask": torch.linspace(0, 3, 21, dtype=torch.float64).view(3, 7)},
    "bias and padding": {
        "attn_mask": MINUS_INFINITY + 0.5 * torch.eye(5, 7, dtype=torch.float64),
        "key_padding_mask": torch.zeros(3, 7, dtype=torch.float64).masked_fill(PADDING, -torch.inf),
    },
}


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize(
    "options", [{}, {"add_bias_kv": True, "add_zero_attn": True}], ids=["plain", "added keys"]
)
def test_masks_mean_what_they_mean_in_torch(masks, options):
    stock, ours = pair(**options)
    assert_same(stock, ours, inputs(ours), **masks)


def test_a_learned_bias_gets_its_gradient():
    stock, ours = pair()
    gradients = []
    for module in (stock, ours):
        bias = torch.zeros(5, 7, dtype=torch.float64, requires_grad=True)
        output, _ = module(*inputs(module), attn_mask=bias, need_weights=False)
        gradients.append(torch.autograd.grad(output.square().sum(), bias)[0])
    assert gradients[0].abs().max() > 0
    torch.testing.assert_close(*gradients)


def test_one_sequence_needs_no_batch():
    stock, ours = pair()
    tensors = [tensor[:, 0].detach().requires_grad_() for tensor in inputs(ours)]
    assert_same(stock, ours, tensors, key_padding_mask=PADDING[1], average_attn_weights=False)


def test_a_pattern_keeps_its_keys_and_capture_sees_them():
    layer = semfocus.MultiheadAttention(8, 2, pattern="top_k(3)").double()
    query, key, value = inputs(layer)
    with capture(layer) as traces:
        output, weights = layer(query, key, value, average_attn_weights=False)
    assert ((weights > 0).sum(-1) == 3).all()
    assert torch.equal(traces[0].weights, weights)
    assert torch.equal(traces[0].inputs, query.transpose(0, 1))
    torch.testing.assert_close(layer(query, key, value, need_weights=False)[0], output)


def test_inverse_temperature_multiplies_the_scores():
    stock, ours = pair()
    ours.inverse_temperature = 3.0
    tensors = inputs(ours)
    with torch.no_grad():
        stock.in_proj_weight[:8] *= 3.0
        stock.in_proj_bias[:8] *= 3.0
    bias = torch.linspace(0, 1, 7, dtype=torch.float64).expand(5, 7)
    for mask, theirs in ((None, None), (FORBIDDEN, FORBIDDEN), (bias, 3.0 * bias)):
        expected = stock(*tensors, attn_mask=theirs)
        for found, wanted in zip(ours(*tensors, attn_mask=mask), expected, strict=True):
            torch.testing.assert_close(found, wanted)


def test_a_query_with_nothing_to_attend_to_is_no_nan():
    _, ours = pair()
    output, weights = ours(*inputs(ours), key_padding_mask=torch.ones(3, 7, dtype=torch.bool))
    assert (weights == 0).all()
    assert torch.equal(output, ours.out_proj.bias.expand_as(output))


@pytest.mark.parametrize("batch_first", [True, False])
def test_it_is_one_graph(batch_first):
    ours = semfocus.MultiheadAttention(8, 2, batch_first=batch_first, pattern=TopK(3))
    x = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(0))
    mask = nn.Transformer.generate_square_subsequent_mask(6 if batch_first else 3)

    def run(x):
        return ours(x, x, x, attn_mask=mask, need_weights=False)[0]

    torch._dynamo.reset()
    torch.testing.assert_close(torch.compile(run, fullgraph=True, backend="aot_eager")(x), run(x))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"attn_mask": torch.zeros(5, 7, dtype=torch.long)}, "attn_mask must be boolean"),
        (
            {"attn_mask": torch.zeros(7, 5, dtype=torch.bool)},
            r"attn_mask must have the shape \(5, 7\) or \(6, 5, 7\)",
        ),
        ({"key_padding_mask": torch.zeros(7, 3, dtype=torch.bool)}, r"shape \(3, 7\), got \(7, 3\)"),
        ({"is_causal": True}, "give attn_mask too"),
    ],
)
def test_masks_that_cannot_be_meant_are_refused(call, message):
    _, ours = pair()
    with pytest.raises(ValueError, match=message):
        ours(*inputs(ours), **call)


def test_inputs_that_do_not_fit_are_refused():
    _, ours = pair()
    query, key, value = inputs(ours)
    with pytest.raises(ValueError, match=r"must be \(8, 8, 8\) wide, got \(8, 8, 7\)"):
        ours(query, key, value[..., :7])
    with pytest.raises(ValueError, match="agree in batch and length"):
        ours(query, key, value[:-1])
    with pytest.raises(ValueError, match=r"3 dimensions, or 2 without a batch, got \(2, 3, 3\)"):
        ours(query[0], key, value)
    nested = torch.nested.nested_tensor([torch.randn(2, 8), torch.randn(3, 8)])
    with pytest.raises(ValueError, match="enable_nested_tensor=False"):
        ours(nested, nested, nested)


def test_patterns_that_cannot_be_meant_are_refused():
    with pytest.raises(ValueError, match=r"banded\(3\) counts positions"):
        semfocus.MultiheadAttention(8, 2, add_zero_attn=True, pattern=Banded(3))
    with pytest.raises(ValueError, match="must be a Pattern"):
        semfocus.MultiheadAttention(8, 2, pattern=3)
    assert semfocus.MultiheadAttention(8, 2, add_zero_attn=True).pattern == Full()


@pytest.mark.parametrize("value", [-1.0, 0.0, True, "2", float("nan"), float("inf")])
def test_an_inverse_temperature_is_a_positive_number(value):
    with pytest.raises(ValueError, match="inverse_temperature must be a positive number"):
        semfocus.MultiheadAttention(8, 2, inverse_temperature=value)
