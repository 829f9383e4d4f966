"""The definition of attention: against arithmetic by hand, plain loops, and PyTorch's own."""

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given

from semfocus.mechanisms import Banded, BottomK, Full, TopK, TopP, attention
from tests.mechanisms.cases import (
    EVERY_PATTERN,
    Result,
    draws_random_numbers,
    few_examples,
    inputs,
    lengths,
    patterns,
    random_mask,
    run,
    seeded,
    seeds,
)

# One query of 1 and keys that are logarithms: with scale 1 the softmax weights are 1 : 2 : 3 : 4.
QUERY = torch.tensor([[1.0]])
KEY = torch.tensor([[1.0], [2.0], [3.0], [4.0]]).log()
VALUE = torch.tensor([[10.0], [20.0], [30.0], [40.0]])


@pytest.mark.parametrize(
    ("pattern", "weights", "output"),
    [
        (Full(), [0.1, 0.2, 0.3, 0.4], 30.0),
        (TopK(1), [0.0, 0.0, 0.0, 1.0], 40.0),
        (TopK(2), [0.0, 0.0, 3 / 7, 4 / 7], 250 / 7),
        (BottomK(2), [1 / 3, 2 / 3, 0.0, 0.0], 50 / 3),
        (Banded(3), [0.0, 2 / 9, 3 / 9, 4 / 9], 290 / 9),
        (TopP(0.65), [0.0, 0.0, 3 / 7, 4 / 7], 250 / 7),
    ],
    ids=str,
)
def test_one_query_by_hand(pattern, weights, output):
    result, info = attention(QUERY, KEY, VALUE, pattern, scale=1.0, return_info=True)
    torch.testing.assert_close(info.weights, torch.tensor([weights]))
    torch.testing.assert_close(result, torch.tensor([[output]]))


def test_a_mask_removes_keys_before_the_pattern_chooses_by_hand():
    mask = torch.tensor([True, False, True, False])
    output, info = attention(QUERY, KEY, VALUE, TopK(2), mask=mask, scale=1.0, return_info=True)
    torch.testing.assert_close(info.weights, torch.tensor([[1 / 4, 0.0, 3 / 4, 0.0]]))
    torch.testing.assert_close(output, torch.tensor([[25.0]]))


def test_the_scale_defaults_to_one_over_the_square_root_of_the_width():
    query, key = torch.tensor([[2.0, 0.0, 0.0, 0.0]]), torch.tensor([[3.0, 1, 1, 1], [-1.0, 1, 1, 1]])
    _, info = attention(query, key, key, return_info=True)
    assert info.scores.tolist() == [[3.0, -1.0]]


def test_the_scale_given_is_used():
    query, key = torch.tensor([[2.0]]), torch.tensor([[3.0], [-1.0]])
    assert attention(query, key, key, scale=0.5, return_info=True)[1].scores.tolist() == [[3.0, -1.0]]


def test_scores_are_minus_infinity_exactly_where_not_allowed():
    mask = random_mask(6, 6, seed=1)
    info = attention(*inputs(), TopK(1), mask=mask, causal=True, return_info=True)[1]
    allowed = mask.tril().expand(info.scores.shape)
    assert torch.equal(info.scores == -torch.inf, ~allowed)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_weights_are_zero_outside_the_kept_and_sum_to_one_inside(pattern):
    info = attention(*inputs(dtype=torch.float64), pattern, return_info=True)[1]
    assert (info.weights[~info.kept] == 0).all()
    assert (info.weights[info.kept] > 0).all()
    torch.testing.assert_close(info.weights.sum(-1), torch.ones(2, 2, 6, dtype=torch.float64))


def by_loops(query, key, value, kept, scale):
    """Attention over the kept keys, one number at a time."""
    rows = []
    for query_row, kept_row in zip(query.tolist(), kept.tolist(), strict=True):
        exponentials = [
            math.exp(scale * sum(a * b for a, b in zip(query_row, key_row, strict=True))) if is_kept else 0.0
            for key_row, is_kept in zip(key.tolist(), kept_row, strict=True)
        ]
        total = sum(exponentials) or 1.0
        rows.append(
            [
                sum(weight * number for weight, number in zip(exponentials, column, strict=True)) / total
                for column in zip(*value.tolist(), strict=True)
            ]
        )
    return torch.tensor(rows, dtype=query.dtype)


@given(patterns, lengths, lengths, seeds)
@few_examples
def test_the_output_is_what_plain_loops_compute(pattern, num_queries, num_keys, seed):
    query, key, value = inputs(num_queries, num_keys, leading=(), dtype=torch.float64, seed=seed)
    mask = random_mask(num_queries, num_keys, seed, share=0.8)
    output, info = attention(
        query, key, value, pattern, mask=mask, scale=0.7, generator=seeded(seed), return_info=True
    )
    torch.testing.assert_close(output, by_loops(query, key, value, info.kept, 0.7))


@given(patterns.filter(lambda pattern: not draws_random_numbers(pattern)), seeds)
@few_examples
def test_batch_rows_and_heads_do_not_mix(pattern, seed):
    query, key, value = inputs(leading=(2, 3), dtype=torch.float64, seed=seed)
    together = attention(query, key, value, pattern, implementation="reference")
    alone = attention(query[1, 2], key[1, 2], value[1, 2], pattern, implementation="reference")
    torch.testing.assert_close(together[1, 2], alone)


def run_pytorch(query, key, value, **options) -> Result:
    leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    output = F.scaled_dot_product_attention(*leaves, **options)
    upstream = torch.randn(output.shape, generator=seeded(8), dtype=torch.float64)
    return Result(output.detach(), *torch.autograd.grad(output, leaves, upstream))


@pytest.mark.parametrize("pattern", [Full(), TopK(6), TopK(99), Banded(6)], ids=str)
@pytest.mark.parametrize("restriction", ["none", "mask", "causal"])
def test_keeping_every_key_is_pytorch_attention(pattern, restriction):
    arguments = inputs(dtype=torch.float64)
    mask = random_mask(6, 6, seed=2) | torch.eye(6, dtype=torch.bool)
    ours, theirs = {
        "none": ({}, {}),
        "mask": ({"mask": mask}, {"attn_mask": mask}),
        "causal": ({"causal": True}, {"is_causal": True}),
    }[restriction]
    actual, expected = run(*arguments, pattern, **ours), run_pytorch(*arguments, **theirs)
    for part in ("output", "query_gradient", "key_gradient", "value_gradient"):
        torch.testing.assert_close(getattr(actual, part), getattr(expected, part), rtol=1e-10, atol=1e-12)


def test_large_scores_do_not_overflow():
    output = attention(QUERY * 1e4, KEY, VALUE, scale=1.0, implementation="reference")
    torch.testing.assert_close(output, torch.tensor([[40.0]]))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_single_precision_rounded_once_at_the_end(pattern, dtype):
    rounded = [tensor.to(dtype) for tensor in inputs()]
    single = run(*(tensor.float() for tensor in rounded), pattern).output
    assert torch.equal(run(*rounded, pattern).output, single.to(dtype))
