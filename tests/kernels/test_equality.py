"""The kernels against the reference over the whole matrix: patterns, lengths, widths, masks; float64 and float32."""

import itertools

import pytest
import torch

from semfocus.kernels.cpu.attention import attention_forward
from semfocus.kernels.cpu.library import load_library
from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Random, TopK, attention
from semfocus.mechanisms.call import AttentionCall
from semfocus.mechanisms.native import options_of

pytestmark = pytest.mark.skipif(
    load_library() is None, reason="the kernels were not compiled (no C++ compiler)"
)

PATTERNS = (Full(), TopK(5), TopK(64), BottomK(5), Banded(9), BlockLocal(9), Random(5))
LENGTHS = (1, 2, 7, 16, 97, 257, 1024)
WIDTHS = (1, 8, 64)
MASKS = ("none", "causal", "padding", "both")
NEAR_TIE = 1e-5


def cases():
    """Lengths, and the same number of keys or another one."""
    for length, width, kind in itertools.product(LENGTHS, WIDTHS, MASKS):
        batch = 1 if length == 1024 else 2
        generator = torch.Generator().manual_seed(length * 100 + width)
        for num_queries in {length, max(1, length // 3)}:
            query, key, value, grad = (
                torch.randn(batch, 1, rows, width, generator=generator)
                for rows in (num_queries, length, length, num_queries)
            )
            mask = torch.rand(batch, 1, 1, length, generator=generator) > 0.3
            options = {
                "mask": mask if kind in ("padding", "both") else None,
                "causal": kind in ("causal", "both"),
            }
            yield (query, key, value, grad), options


def run(tensors, pattern, **options):
    *inputs, grad = tensors
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    output = attention(*leaves, pattern, **options)
    return [output.detach(), *torch.autograd.grad(output, leaves, grad)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_float64_agrees_to_1e_12_of_the_largest_entry(pattern):
    for tensors, options in cases():
        doubles = [tensor.double() for tensor in tensors]
        expected, actual = (
            run(
                doubles,
                pattern,
                implementation=name,
                generator=torch.Generator().manual_seed(1),
                **options,
            )
            for name in ("reference", "native")
        )
        for right, ours in zip(expected, actual, strict=True):
            assert (right - ours).abs().max() <= 1e-12 * right.abs().max()


def kept_by_the_kernels(tensors, pattern, mask, causal):
    """(batch, 1, Lq, Lk), as the kernels selected it in float32."""
    query, key, value, _ = tensors
    num_queries, num_keys, width = query.shape[2], key.shape[2], query.shape[3]
    options = options_of(
        pattern, num_queries, num_keys, causal, width**-0.5, 0.0, torch.Generator().manual_seed(1)
    )
    if mask is not None:
        mask = mask.expand(*query.shape[:3], num_keys)
    if options.mode == "all":  # k of at least the number of keys: no list of them is kept
        allowed = AttentionCall(query, key, value, pattern, mask, causal, 1.0, 0.0, None).allowed()
        return allowed.expand(*query.shape[:3], num_keys)
    indices = attention_forward(query, key, value, mask, options)[1].long()
    kept = torch.zeros(*query.shape[:3], num_keys + 1, dtype=torch.bool)
    return kept.scatter(-1, indices.where(indices >= 0, num_keys), True)[..., :num_keys]


def errors_over_allowance(exact, dense, ours):
    """Our largest error in units of 1.25 times that of dense float32 plus 4 units in the last place."""
    for truth, usual, got in zip(exact, dense, ours, strict=True):
        ulp = torch.finfo(torch.float32).eps * truth.abs().max()
        allowance = 1.25 * (usual - truth).abs().max() + 4 * ulp
        if allowance > 0:
            yield float((got - truth).abs().max() / allowance)
        else:
            yield torch.inf if (got != truth).any() else 0.0


def assert_mostly_within(ratios):
    """The largest of many rounding errors against that of another summation order, which is the processor's own: luck
    decides in which few cases ours is the larger one. A single wrong shape, of 42, would be more than a few."""
    ratios = torch.tensor(ratios)
    assert (ratios <= 1).double().mean() > 0.99
    assert ratios.max() <= 2


@pytest.mark.parametrize("pattern", [pattern for pattern in PATTERNS if pattern != Full()], ids=str)
def test_float32_errs_no_more_than_dense_float32_on_the_same_keys(pattern):
    ratios = []
    for tensors, options in cases():
        kept = kept_by_the_kernels(tensors, pattern, **options)
        exact = run([tensor.double() for tensor in tensors], Full(), mask=kept, implementation="reference")
        dense = run(tensors, Full(), mask=kept, implementation="reference")
        seeded = torch.Generator().manual_seed(1)
        ours = run(tensors, pattern, generator=seeded, implementation="native", **options)
        ratios += errors_over_allowance(exact, dense, ours)
    assert_mostly_within(ratios)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_float32_full_attention_errs_no_more_than_dense(dropout):
    """Beyond one chunk of keys, the mean gradient of a row's weights comes from the rounded output, not from the row:
    with a single feature nothing averages that out."""
    ratios = []
    for tensors, options in cases():
        exact, dense, ours = (
            run(
                inputs,
                Full(),
                dropout=dropout,
                generator=torch.Generator().manual_seed(1),
                implementation=name,
                **options,
            )
            for inputs, name in (
                ([tensor.double() for tensor in tensors], "reference"),
                (tensors, "reference"),
                (tensors, "native"),
            )
        )
        ratios += errors_over_allowance(exact, dense, ours)
    assert_mostly_within(ratios)


@pytest.mark.parametrize("pattern", [TopK(5), TopK(64), BottomK(5)], ids=str)
def test_another_key_is_kept_only_where_two_scores_nearly_tie(pattern):
    for tensors, options in cases():
        kept = kept_by_the_kernels(tensors, pattern, **options)
        doubles = [tensor.double() for tensor in tensors[:3]]
        _, info = attention(*doubles, pattern, return_info=True, **options)
        assert torch.equal(kept.sum(-1), info.kept.sum(-1))
        sign = -1 if isinstance(pattern, BottomK) else 1
        scores = sign * info.scores
        worst_kept = scores.masked_fill(~info.kept, torch.inf).amin(-1, keepdim=True)
        differs = kept != info.kept
        assert ((scores - worst_kept).abs()[differs] < NEAR_TIE).all()


@pytest.mark.parametrize("repeats", [1_000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_repeats_are_bit_identical(repeats):
    """At one and two threads, for every kernel: so many runs of forward and backward in all."""
    generator = torch.Generator().manual_seed(0)
    before = torch.get_num_threads()
    try:
        for threads, pattern in itertools.product((1, 2), PATTERNS):
            torch.set_num_threads(threads)
            for batch in (1, 3):
                tensors = [torch.randn(batch, 1, 40, 8, generator=generator) for _ in range(4)]

                def again(tensors=tensors, pattern=pattern):
                    seeded = torch.Generator().manual_seed(1)
                    return run(tensors, pattern, dropout=0.1, generator=seeded, implementation="native")

                first = again()
                for _ in range(repeats // (2 * 2 * len(PATTERNS)) + 1):
                    assert all(torch.equal(left, right) for left, right in zip(first, again(), strict=True))
    finally:
        torch.set_num_threads(before)
