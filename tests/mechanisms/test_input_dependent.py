"""TopK and BottomK: which scores they keep."""

import pytest
import torch
from hypothesis import given

from semfocus.mechanisms import BottomK, TopK, attention
from tests.mechanisms.cases import counts, draw, everything, few_examples, inputs, picture, random_mask, seeds

SCORES = torch.tensor([[4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 3.0, 4.0]])


@pytest.mark.parametrize(
    ("k", "top", "bottom"),
    [
        (1, ["x...", "...x"], [".x..", "x..."]),
        (2, ["x.x.", "..xx"], [".x.x", "xx.."]),
        (3, ["x.xx", ".xxx"], [".xxx", "xxx."]),
        (4, ["xxxx", "xxxx"], ["xxxx", "xxxx"]),
        (9, ["xxxx", "xxxx"], ["xxxx", "xxxx"]),
    ],
)
def test_the_highest_and_the_lowest_scores(k, top, bottom):
    allowed = everything(2, 4)
    assert draw(TopK(k).keep(SCORES, allowed)) == top
    assert draw(BottomK(k).keep(SCORES, allowed)) == bottom


def test_the_mask_comes_before_the_choice():
    allowed = picture(".xxx", "xx..")
    assert draw(TopK(1).keep(SCORES, allowed)) == ["..x.", ".x.."]
    assert draw(BottomK(1).keep(SCORES, allowed)) == [".x..", "x..."]


def test_keys_that_are_not_allowed_never_win_however_low_the_others():
    scores = torch.full((1, 3), -1e38)
    assert draw(TopK(2).keep(scores, picture("x.x"))) == ["x.x"]
    assert draw(BottomK(2).keep(-scores, picture("x.x"))) == ["x.x"]


def test_keys_that_are_not_allowed_have_scores_of_minus_infinity_and_are_no_candidates_for_the_bottom():
    query, key, value = inputs()
    kept = attention(query, key, value, BottomK(2), causal=True, return_info=True)[1].kept
    assert kept.sum(-1)[0, 0].tolist() == [1, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("pattern", [TopK(2), BottomK(2)], ids=str)
def test_ties_go_to_the_lowest_index(pattern):
    query = torch.ones(3, 4)
    key = torch.ones(5, 4)
    kept = attention(query, key, key, pattern, return_info=True)[1].kept
    assert draw(kept) == ["xx..."] * 3


def test_integer_valued_inputs_tie_exactly():
    query = torch.tensor([[1.0, 1.0]])
    key = torch.tensor([[0.0, 1.0], [2.0, 1.0], [1.0, 2.0], [3.0, 0.0]])  # scores 1, 3, 3, 3
    kept = attention(query, key, key, TopK(2), return_info=True)[1].kept
    assert draw(kept) == [".xx."]
    kept = attention(query, key, key, BottomK(2), return_info=True)[1].kept
    assert draw(kept) == ["xx.."]


@pytest.mark.parametrize("pattern", [TopK(2), BottomK(2)], ids=str)
def test_a_nan_score_is_kept_where_allowed(pattern):
    scores = torch.tensor([[1.0, 2.0, float("nan"), 3.0]])
    assert pattern.keep(scores, everything(1, 4))[0, 2]
    assert not pattern.keep(scores, picture("xx.x"))[0, 2]


@given(counts, seeds)
@few_examples
def test_exactly_k_or_all_that_is_allowed_also_under_ties(k, seed):
    scores = torch.randint(-1, 2, (2, 5, 6), generator=torch.Generator().manual_seed(seed)).float()
    allowed = random_mask(5, 6, seed)
    for pattern in (TopK(k), BottomK(k)):
        kept = pattern.keep(scores, allowed)
        assert not (kept & ~allowed).any()
        assert torch.equal(kept.sum(-1), allowed.sum(-1).clamp(max=k).expand(2, 5))


@given(counts, seeds)
@few_examples
def test_bottom_k_is_top_k_of_the_negated_scores(k, seed):
    scores = torch.randn(5, 6, generator=torch.Generator().manual_seed(seed))
    allowed = random_mask(5, 6, seed)
    assert torch.equal(BottomK(k).keep(scores, allowed), TopK(k).keep(-scores, allowed))


@given(counts, seeds)
@few_examples
def test_no_kept_score_is_below_one_that_was_left_out(k, seed):
    scores = torch.randn(5, 6, generator=torch.Generator().manual_seed(seed))
    allowed = random_mask(5, 6, seed)
    kept = TopK(k).keep(scores, allowed)
    lowest_kept = scores.masked_fill(~kept, torch.inf).amin(-1)
    highest_left_out = scores.masked_fill(kept | ~allowed, -torch.inf).amax(-1)
    assert (lowest_kept > highest_left_out).all()
