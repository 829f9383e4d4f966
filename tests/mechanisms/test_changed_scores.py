"""Softcap and bias: what changes scores before anything is kept, in every implementation that takes it."""

from dataclasses import replace

import pytest
import torch

from semfocus.kernels.cpu.layout import INSTRUCTION_SETS
from semfocus.kernels.cpu.library import load_library
from semfocus.mechanisms import BottomK, Full, TopK
from semfocus.mechanisms.call import checked_call
from semfocus.mechanisms.dispatch import IMPLEMENTATIONS, choose
from semfocus.mechanisms.observation import Changes

LIBRARY = load_library()
NEEDS_KERNELS = pytest.mark.skipif(LIBRARY is None, reason="the kernels were not compiled (no C++ compiler)")

BATCH, QUERIES, KEYS = (2, 3), 37, 41
SHAPES = {
    "of every score": (*BATCH, QUERIES, KEYS),
    "shared by the batch, as T5's": (1, 3, QUERIES, KEYS),
    "shared by the heads": (2, 1, QUERIES, KEYS),
    "of a key": (1, 1, 1, KEYS),
    "of a query": (2, 3, QUERIES, 1),
    "one for all": (1, 1, 1, 1),
    "without a batch": (QUERIES, KEYS),
}


@pytest.fixture(params=["torch", *(pytest.param(each, marks=NEEDS_KERNELS) for each in INSTRUCTION_SETS)])
def implementation(request, monkeypatch):
    """The blockwise one, and the kernels with every instruction set that this machine has."""
    if request.param == "torch":
        return "torch"
    if INSTRUCTION_SETS.index(request.param) > INSTRUCTION_SETS.index(LIBRARY.best):
        pytest.skip(f"this machine has no {request.param}")
    monkeypatch.setattr(LIBRARY, "instruction_set", request.param)
    return "native"


def normal(*shape, dtype=torch.float64, seed=0):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def tensors_of(queries=QUERIES, keys=KEYS, batch=BATCH, width=8, dtype=torch.float64):
    shapes = (queries, width), (keys, width), (keys, 5)
    return [normal(*batch, *shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


def run(implementation, pattern, tensors, softcap=None, bias=None, mask=None, causal=False, temperature=1.0):
    """Output, and the gradients of query, key, value and bias."""
    leaves = [tensor.clone().requires_grad_() for tensor in (*tensors, *([] if bias is None else [bias]))]
    call = checked_call(*leaves[:3], pattern, mask, causal, 0.5, 0.0, False, None)
    call = Changes(softcap, bias=None if bias is None else leaves[3]).into(call, temperature)
    output = choose(call, implementation).run(call)
    weight = normal(*output.shape, seed=9).to(output.dtype)
    return output.detach(), *torch.autograd.grad(output, leaves, weight)


def assert_equal(expected, actual, tolerance=1e-11):
    for right, ours in zip(expected, actual, strict=True):
        torch.testing.assert_close(ours, right, rtol=tolerance, atol=tolerance, equal_nan=True)


def test_a_bias_decides_what_is_kept():
    query, key, value = torch.zeros(1, 4), torch.zeros(6, 4), torch.eye(6)
    bias = torch.tensor([[0.0, 3.0, 1.0, 4.0, 1.0, 5.0]])
    weights, *_ = run("reference", TopK(2), [query, key, value], bias=bias)
    assert torch.equal(weights[0] > 0, torch.tensor([False, False, False, True, False, True]))
    assert weights[0, 5] / weights[0, 3] == pytest.approx(torch.e)


def test_a_softcap_flattens_weights_and_keeps_the_order():
    query, key, value = torch.ones(1, 1), torch.tensor([[100.0], [60.0], [20.0]]), torch.eye(3)
    weights, *_ = run("reference", TopK(2), [query, key, value], softcap=2.0)
    assert torch.allclose(weights[0], torch.tensor([0.5, 0.5, 0.0]))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("pattern", [TopK(5), BottomK(3)], ids=str)
def test_every_bias_that_broadcasts_gives_what_the_reference_gives(implementation, pattern, shape):
    bias = normal(*shape, seed=3)
    for softcap in (None, 1.5):
        expected = run("reference", pattern, tensors_of(), softcap, bias)
        assert_equal(expected, run(implementation, pattern, tensors_of(), softcap, bias))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_masks_and_time_are_kept(implementation, causal, masked):
    """Some queries see nothing at all, some fewer keys than are kept."""
    mask = torch.rand(2, 1, KEYS, KEYS, generator=torch.Generator().manual_seed(4)) > 0.8 if masked else None
    tensors = tensors_of(queries=KEYS)
    options = {
        "softcap": 2.0,
        "bias": normal(1, 3, KEYS, KEYS, seed=3),
        "mask": mask,
        "causal": causal,
        "temperature": 3.0,
    }
    expected = run("reference", TopK(5), tensors, **options)
    assert_equal(expected, run(implementation, TopK(5), tensors, **options))


def test_the_temperature_is_that_of_the_changed_scores():
    """As `Changes.of_scores` says it: (softcap * tanh(score / softcap) + bias) * inverse temperature."""
    query, key, value = tensors_of()
    changes = Changes(2.0, bias=normal(1, 3, QUERIES, KEYS, seed=3))
    call = checked_call(query, key, value, TopK(5), None, False, 0.5, 0.0, False, None)
    scores = changes.of_scores(0.5 * query @ key.mT, 3.0)
    kept = scores >= scores.topk(5).values[..., -1:]
    expected = scores.masked_fill(~kept, -torch.inf).softmax(-1) @ value
    actual = choose(changes.into(call, 3.0), "reference").run(changes.into(call, 3.0))
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_long_sequences_cross_chunks_of_keys_and_blocks_of_queries(implementation):
    tensors = tensors_of(queries=600, keys=4500, batch=(1, 1))
    bias = normal(1, 1, 600, 4500, seed=3)
    expected = run("reference", TopK(7), tensors, 3.0, bias)
    assert_equal(expected, run(implementation, TopK(7), tensors, 3.0, bias))


@pytest.mark.parametrize("softcap", [0.05, 1.0, 30.0])
def test_float32_is_as_exact_as_pytorch(implementation, softcap):
    """Error against float64 where no two scores are close: at most twice that of the dense float32 reference."""
    bias = torch.rand(QUERIES, KEYS, generator=torch.Generator().manual_seed(3)).argsort(-1) * 1.0
    tensors = tensors_of(dtype=torch.float32)
    exact = run("reference", TopK(5), [each.double() for each in tensors], softcap, bias.double())
    dense = run("reference", TopK(5), tensors, softcap, bias)
    for truth, theirs, ours in zip(
        exact, dense, run(implementation, TopK(5), tensors, softcap, bias), strict=True
    ):
        allowance = 2 * (theirs - truth).abs().max() + 8 * torch.finfo(torch.float32).eps * truth.abs().max()
        assert (ours - truth).abs().max() <= allowance


def test_what_is_not_a_number_is_seen_only_by_those_who_may_see_it(implementation):
    bias = normal(1, 3, QUERIES, KEYS, seed=3)
    bias[0, 1, 4, 7] = torch.nan
    clean, *_ = run(implementation, TopK(5), tensors_of(), 2.0, normal(1, 3, QUERIES, KEYS, seed=3))
    output, *_ = run(implementation, TopK(5), tensors_of(), 2.0, bias)
    poisoned = output.isnan()
    assert poisoned[:, 1, 4].all()
    assert poisoned.sum() == poisoned[:, 1, 4].numel()
    assert torch.equal(output[~poisoned], clean[~poisoned])
    hidden = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    hidden[4, 7] = False
    assert not run(implementation, TopK(5), tensors_of(), 2.0, bias, mask=hidden)[0].isnan().any()


def test_minus_infinity_in_a_bias_hides_a_key(implementation):
    """As models say it that have no boolean mask; a query that sees nothing gets what the reference gives."""
    bias = normal(1, 1, QUERIES, KEYS, seed=3)
    bias[..., KEYS // 2 :] = -torch.inf
    bias[..., 3, 4:] = -torch.inf
    expected = run("reference", TopK(5), tensors_of(), None, bias)
    assert_equal(expected, run(implementation, TopK(5), tensors_of(), None, bias))


@NEEDS_KERNELS
def test_a_second_derivative_says_so():
    leaves = [tensor.requires_grad_() for tensor in tensors_of()]
    call = checked_call(*leaves, TopK(5), None, False, 0.5, 0.0, False, None)
    call = replace(call, softcap=2.0)
    (first,) = torch.autograd.grad(
        choose(call, "native").run(call).square().sum(), leaves[:1], create_graph=True
    )
    with pytest.raises(RuntimeError, match="second"):
        first.sum().backward()


@NEEDS_KERNELS
def test_top_k_is_compiled_and_the_rest_goes_to_blocks():
    call = checked_call(*tensors_of(), TopK(5), None, False, 0.5, 0.0, False, None)
    assert choose(replace(call, softcap=2.0), "auto") is IMPLEMENTATIONS["native"]
    assert choose(replace(call, softcap=2.0, pattern=Full()), "auto") is IMPLEMENTATIONS["torch"]


def test_full_attention_too_in_blocks():
    bias = normal(1, 3, QUERIES, KEYS, seed=3)
    assert_equal(
        run("reference", Full(), tensors_of(), 2.0, bias), run("torch", Full(), tensors_of(), 2.0, bias)
    )
