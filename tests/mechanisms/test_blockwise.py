"""Attention by blocks of queries against the reference: outputs, gradients of both orders, memory."""

import dataclasses
import itertools
import subprocess
import sys

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from semfocus.mechanisms import (
    Banded,
    BlockLocal,
    BottomK,
    Full,
    InputAgnostic,
    Pattern,
    QueryRows,
    Random,
    TopK,
    TopP,
    WithGlobals,
    attention,
    blockwise,
)
from tests.mechanisms.cases import EVERY_PATTERN, inputs, random_mask, run, seeded

PATTERNS = (
    Full(),
    TopK(1),
    TopK(5),
    TopK(64),
    BottomK(3),
    Banded(4),
    Banded(9),
    BlockLocal(5),
    Random(3),
    Random(3, fixed=True),
    TopP(0.7),
    WithGlobals(TopK(2), 1),
    WithGlobals(BlockLocal(3), 2),
    WithGlobals(Random(2), 1),
)
LENGTHS = ((1, 1), (2, 2), (7, 7), (16, 16), (97, 97), (5, 40), (40, 5))
PARTS = ("output", "query_gradient", "key_gradient", "value_gradient")


def assert_close(actual, expected, tolerance=1e-12):
    for part in PARTS:
        truth, ours = getattr(expected, part), getattr(actual, part)
        assert ours.dtype == truth.dtype
        assert (ours - truth).abs().max() <= tolerance * truth.abs().max(), part


def draw_mask(kind, num_queries, num_keys):
    shape = {"padding": (2, 1, 1, num_keys), "any": (2, 2, num_queries, num_keys)}.get(kind)
    return None if shape is None else torch.rand(shape, generator=seeded(1)) > 0.4


@pytest.fixture(params=[1, 10**9], ids=["gathered", "dense"])
def three_blocks(request, monkeypatch):
    """About three blocks of queries, on gathered keys wherever that is possible, or never."""
    monkeypatch.setattr(blockwise, "GATHER_ONE_OF", request.param)

    def divide(num_queries, num_keys):
        monkeypatch.setattr(blockwise, "NUMBERS_AT_ONCE", 4 * max(num_keys, 20) * max(1, num_queries // 3))

    return divide


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("kind", ["none", "causal", "padding", "any"])
def test_equals_the_reference_with_the_same_generator(pattern, kind, three_blocks):
    if kind == "causal" and pattern.global_tokens():
        pytest.skip("global tokens are never causal")
    if blockwise.GATHER_ONE_OF > 1 and pattern.most_kept() is None:
        pytest.skip("never gathered anyway")
    lengths = LENGTHS if blockwise.GATHER_ONE_OF == 1 else LENGTHS[2::2]
    for (num_queries, num_keys), dropout in itertools.product(lengths, (0.0, 0.3)):
        three_blocks(num_queries, num_keys)
        tensors = inputs(num_queries, num_keys, dtype=torch.float64)
        options = {"causal": kind == "causal", "mask": draw_mask(kind, num_queries, num_keys)}
        options |= {"dropout": dropout}
        expected = run(*tensors, pattern, implementation="reference", **options)
        assert_close(run(*tensors, pattern, implementation="torch", **options), expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    "pattern", [TopK(3), BottomK(3), TopK(40), TopP(0.4), WithGlobals(TopK(3), 2)], ids=str
)
def test_ties_go_to_the_lowest_index(pattern):
    query, key = (torch.randint(-1, 2, (2, 50, 3), generator=seeded(seed)).double() for seed in range(2))
    value = torch.eye(50, dtype=torch.float64).expand(2, 50, 50)
    expected, actual = (
        attention(query, key, value, pattern, implementation=each) for each in ("reference", "torch")
    )
    assert torch.equal(actual != 0, expected != 0)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_leading_dimensions_and_masks_broadcast(pattern):
    query = inputs(7, 9, leading=(3, 1, 2), dtype=torch.float64)[0].mT.contiguous().mT
    key = inputs(7, 9, leading=(2, 1), dtype=torch.float64)[1]
    value = inputs(7, 9, leading=(), dtype=torch.float64)[2]
    shapes = ((9,), (7, 1), (2, 7, 9), (3, 1, 1, 1, 9))
    for shape in shapes:
        options = {"mask": torch.rand(shape, generator=seeded(2)) < 0.7, "scale": -0.7, "dropout": 0.2}
        expected = run(query, key, value, pattern, implementation="reference", **options)
        assert_close(run(query, key, value, pattern, implementation="torch", **options), expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision_is_rounded_once_and_single_as_exact(pattern, dtype):
    tensors = inputs(16, 16, dtype=dtype)
    expected, actual = (run(*tensors, pattern, implementation=each) for each in ("reference", "torch"))
    assert_close(actual, expected, tolerance=1e-5 if dtype == torch.float32 else torch.finfo(dtype).eps)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_first_and_second_derivatives_by_finite_differences(pattern):
    arguments = inputs(3, 6, leading=(), width=2, value_width=2, dtype=torch.float64, seed=1)
    leaves = [tensor.requires_grad_() for tensor in arguments]
    mask = random_mask(3, 6, seed=0, share=0.8)
    mask[1] = False

    def evaluate(query, key, value):
        options = {"mask": mask, "dropout": 0.3, "generator": seeded(4), "implementation": "torch"}
        return attention(query, key, value, pattern, **options)

    assert gradcheck(evaluate, leaves)
    assert gradgradcheck(evaluate, leaves)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", [TopK(2), Full()], ids=str)
@pytest.mark.parametrize("which", range(3))
def test_one_input_alone_may_ask_for_gradients_of_both_orders(pattern, which):
    def gradients(implementation):
        tensors = [tensor.clone() for tensor in inputs(5, 5, dtype=torch.float64)]
        asked = tensors[which].requires_grad_()
        output = attention(*tensors, pattern, implementation=implementation)
        (first,) = torch.autograd.grad(output.square().sum(), asked, create_graph=True)
        return first, *torch.autograd.grad(first.square().sum(), asked)

    for actual, expected in zip(gradients("torch"), gradients("reference"), strict=True):
        torch.testing.assert_close(actual, expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
@pytest.mark.parametrize("poison", [torch.nan, torch.inf, 1e38])
def test_what_nobody_may_see_changes_no_bit(pattern, poison):
    query, key, value = inputs(9, 9)
    mask = torch.arange(9) < 7
    poisoned_key, poisoned_value = key.clone(), value.clone()
    poisoned_key[..., 7:, :], poisoned_value[..., 7:, :] = poison, poison
    clean = run(query, key, value, pattern, mask=mask, implementation="torch")
    dirty = run(query, poisoned_key, poisoned_value, pattern, mask=mask, implementation="torch")
    assert all(torch.equal(getattr(clean, part), getattr(dirty, part)) for part in PARTS)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", [each for each in PATTERNS if not each.global_tokens()], ids=str)
def test_a_nan_score_makes_its_row_nan_even_where_not_kept_and_no_other(pattern):
    query, key, value = inputs(9, 9)
    key[..., 5, :] = torch.nan
    output = attention(query, key, value, pattern, causal=True, implementation="torch")
    assert output[..., 5:, :].isnan().all()
    assert output[..., :5, :].isfinite().all()


@pytest.mark.usefixtures("small_blocks")
def test_the_gradients_of_a_nan_row_are_not_numbers_either():
    query, key, value = inputs(9, 9, leading=())
    key[8] = torch.nan
    mask = torch.ones(9, 9, dtype=torch.bool)
    mask[1:, 8] = False  # only the row 0 may see the NaN, and its band is the key 0
    result = run(query, key, value, Banded(1), mask=mask, implementation="torch")
    assert result.value_gradient[0].isnan().all()
    assert result.value_gradient[1:].isfinite().all()
    assert result.query_gradient[1:].isfinite().all()


@pytest.mark.parametrize("size", [2**31, 2**70])
@pytest.mark.parametrize("make", [BlockLocal, TopK, Banded, Random])
def test_sizes_beyond_any_integer_mean_everything(make, size):
    tensors = inputs(dtype=torch.float64)
    expected = attention(*tensors, Full())
    torch.testing.assert_close(attention(*tensors, make(size), implementation="torch"), expected)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("pattern", [TopK(3), WithGlobals(TopK(2), 1)], ids=str)
def test_autocast_changes_nothing_wherever_it_ends(pattern):
    expected = run(*inputs(9, 9), pattern, implementation="torch")
    leaves = [tensor.requires_grad_() for tensor in inputs(9, 9)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = attention(*leaves, pattern, implementation="torch")
    upstream = torch.randn(output.shape, generator=seeded(8), dtype=torch.float64).float()
    gradients = torch.autograd.grad(output, leaves, upstream)
    for part, actual in zip(PARTS, (output, *gradients), strict=True):
        assert torch.equal(actual, getattr(expected, part))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_a_block_is_decided_like_the_rows_of_the_whole(pattern):
    scores = torch.randn(2, 3, 7, 8, generator=seeded())
    allowed = random_mask(7, 8, seed=1)
    whole = pattern.keep(scores, allowed, seeded(5)).expand(scores.shape)
    seed = pattern.selection_seed(seeded(5))
    for first, stop in itertools.combinations(range(8), 2):
        rows = QueryRows(first, stop, 7, 8, seed)
        kept = pattern.keep_rows(scores[..., first:stop, :], allowed[first:stop], rows)
        assert torch.equal(kept.expand(2, 3, stop - first, 8), whole[..., first:stop, :])


@dataclasses.dataclass(frozen=True)
class EveryOther(Pattern):
    name = "every_other"
    family = "control"

    def keep(self, scores, allowed, generator=None):
        return allowed & (torch.arange(allowed.shape[-1]) % 2 == 0)


@dataclasses.dataclass(frozen=True)
class CarefulTopK(TopK):
    def keep(self, scores, allowed, generator=None):
        return super().keep(scores, allowed, generator) & allowed.tril()


@dataclasses.dataclass(frozen=True)
class FirstKeys(InputAgnostic):
    num: int
    name = "first_keys"

    def keep_positions(self, allowed, rows):
        return allowed & (torch.arange(rows.num_keys) < self.num)


@pytest.mark.parametrize("pattern", [EveryOther(), CarefulTopK(2), WithGlobals(EveryOther(), 1)], ids=str)
def test_a_pattern_that_says_keep_alone_is_left_to_the_reference(pattern):
    with pytest.raises(ValueError, match="cannot serve this call: the pattern defines no keep_rows"):
        attention(*inputs(), pattern, implementation="torch")
    expected = attention(*inputs(), pattern, implementation="reference")
    assert torch.equal(attention(*inputs(), pattern), expected)


@pytest.mark.usefixtures("small_blocks")
def test_a_pattern_of_ones_own_that_keeps_rows_is_served():
    query, key, value = inputs(dtype=torch.float64)
    output = attention(query, key, value, FirstKeys(2), implementation="torch")
    torch.testing.assert_close(output, attention(query, key[..., :2, :], value[..., :2, :]))


def test_what_is_empty_is_left_to_the_reference():
    for tensors in (inputs(0, 3), inputs(3, 0), inputs(leading=(2, 0)), inputs(value_width=0)):
        with pytest.raises(ValueError, match="an empty batch or sequence"):
            attention(*tensors, TopK(2), implementation="torch")


GROWTH = """
import resource, torch
from semfocus.mechanisms import attention, blockwise, parse_pattern
torch.set_num_threads(1)
blockwise.NUMBERS_AT_ONCE = 2**18
def peak(length):
    query, key, value = (torch.randn(1, length, 8, requires_grad=True) for _ in range(3))
    mask = torch.arange(length) != 5
    output = attention(
        query, key, value, parse_pattern("PATTERN"), mask=mask, causal=True, implementation="torch"
    )
    output.sum().backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(-peak(512) + peak(8192))
"""


@pytest.mark.parametrize("pattern", [pytest.param("full", marks=pytest.mark.slow), "top_k(8)"])
def test_no_tensor_of_all_queries_by_all_keys_is_made(pattern):
    """One of bools would take 64 MiB at this length, one of numbers 256 MiB."""
    code = GROWTH.replace("PATTERN", pattern)
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(result.stdout) < 40 * 1024
