"""A query with no allowed key: output exactly 0, gradient exactly 0, and nobody else notices."""

import pytest
import torch
from hypothesis import given

from tests.mechanisms.cases import EVERY_PATTERN, few_examples, inputs, patterns, random_mask, run, seeds

BLOCKED = 2


def mask_with_a_blocked_row(seed, leading=()):
    mask = random_mask(6, 6, seed).expand(*leading, 6, 6).clone()
    mask[..., BLOCKED, :] = False
    return mask


@given(patterns, seeds)
@few_examples
def test_its_output_is_exactly_zero(pattern, seed):
    result = run(*inputs(seed=seed), pattern, mask=mask_with_a_blocked_row(seed))
    assert (result.output[..., BLOCKED, :] == 0).all()


@given(patterns, seeds)
@few_examples
def test_it_sends_no_gradient_to_any_input(pattern, seed):
    only_that_row = torch.arange(6) == BLOCKED
    mask = mask_with_a_blocked_row(seed)
    result = run(*inputs(seed=seed), pattern, mask=mask, rows_in_loss=only_that_row)
    for gradient in (result.query_gradient, result.key_gradient, result.value_gradient):
        assert (gradient == 0).all()


@given(patterns, seeds)
@few_examples
def test_the_other_rows_do_not_change_by_a_bit(pattern, seed):
    arguments = inputs(seed=seed)
    others = torch.arange(6) != BLOCKED
    open_mask = random_mask(6, 6, seed)
    open_mask[BLOCKED] = True
    blocked_mask = open_mask & others.unsqueeze(-1)
    seen = run(*arguments, pattern, mask=open_mask, rows_in_loss=others)
    blocked = run(*arguments, pattern, mask=blocked_mask, rows_in_loss=others)
    assert torch.equal(seen.output[..., others, :], blocked.output[..., others, :])
    assert torch.equal(seen.query_gradient[..., others, :], blocked.query_gradient[..., others, :])
    assert torch.equal(seen.key_gradient, blocked.key_gradient)
    assert torch.equal(seen.value_gradient, blocked.value_gradient)


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_a_row_may_be_empty_in_one_batch_row_only(pattern):
    mask = torch.ones(2, 1, 6, 6, dtype=torch.bool)
    mask[1, 0, BLOCKED] = False
    output = run(*inputs(), pattern, mask=mask).output
    assert (output[1, :, BLOCKED] == 0).all()
    assert (output[0, :, BLOCKED] != 0).all()


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_nothing_allowed_anywhere_is_zero_everywhere(pattern):
    result = run(*inputs(), pattern, mask=torch.tensor(False))
    for part in (result.output, result.query_gradient, result.key_gradient, result.value_gradient):
        assert (part == 0).all()


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_no_nan_arises_on_the_way_back_not_even_one_that_is_overwritten(pattern):
    with torch.autograd.set_detect_anomaly(True):
        run(*inputs(), pattern, mask=mask_with_a_blocked_row(1))


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_dropout_leaves_it_at_zero(pattern):
    result = run(*inputs(), pattern, mask=mask_with_a_blocked_row(1), dropout=0.5)
    assert (result.output[..., BLOCKED, :] == 0).all()
    assert (result.query_gradient[..., BLOCKED, :] == 0).all()
