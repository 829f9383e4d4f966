"""WithGlobals: the last positions see everything, and everything sees them."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import Banded, BlockLocal, BottomK, Full, Random, TopK, TopP, WithGlobals, attention
from tests.mechanisms.cases import (
    base_patterns,
    draw,
    everything,
    few_examples,
    inputs,
    lengths,
    picture,
    positions_kept,
    random_mask,
    seeded,
    seeds,
)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (WithGlobals(Full(), 1), ["xxxxx"] * 5),
        (WithGlobals(Banded(1), 1), ["x...x", ".x..x", "..x.x", "...xx", "xxxxx"]),
        (WithGlobals(Banded(3), 1), ["xxx.x", "xxx.x", ".xxxx", ".xxxx", "xxxxx"]),
        (WithGlobals(Banded(1), 2), ["x..xx", ".x.xx", "..xxx", "xxxxx", "xxxxx"]),
        (WithGlobals(BlockLocal(2), 1), ["xx..x", "xx..x", "..xxx", "..xxx", "xxxxx"]),
        (WithGlobals(BlockLocal(2), 2), ["xx.xx", "xx.xx", "..xxx", "xxxxx", "xxxxx"]),
        (WithGlobals(Banded(1), 4), ["xxxxx"] * 5),
        (WithGlobals(Banded(1), 5), ["xxxxx"] * 5),
        (WithGlobals(Banded(1), 9), ["xxxxx"] * 5),
    ],
    ids=str,
)
def test_globals_over_patterns_of_positions(pattern, expected):
    assert positions_kept(pattern, everything(5, 5)) == expected


def test_globals_over_patterns_of_scores_are_kept_beside_what_the_base_keeps():
    scores = torch.tensor([[1.0, 3.0, 2.0, 9.0], [3.0, 2.0, 1.0, -9.0], [1.0, 2.0, 3.0, 9.0], [0.0] * 4])
    allowed = everything(4, 4)
    assert draw(WithGlobals(TopK(1), 1).keep(scores, allowed)) == [".x.x", "x..x", "..xx", "xxxx"]
    assert draw(WithGlobals(BottomK(1), 1).keep(scores, allowed)) == ["x..x", "..xx", "x..x", "xxxx"]
    assert draw(WithGlobals(TopP(0.6), 1).keep(scores, allowed)) == [".x.x", "x..x", "..xx", "xxxx"]


@pytest.mark.parametrize("fixed", [False, True])
def test_globals_over_random_are_kept_beside_k_others(fixed):
    kept = WithGlobals(Random(2, fixed), 1).keep(torch.zeros(3, 5, 5), everything(5, 5), seeded())
    assert kept.expand(3, 5, 5).sum(-1).tolist() == [[3, 3, 3, 3, 5]] * 3
    assert kept[..., -1].all()


def test_the_mask_always_wins():
    allowed = picture("xxx.", "xxxx", "....", "x.x.")
    assert positions_kept(WithGlobals(Banded(1), 1), allowed) == ["x...", ".x.x", "....", "x.x."]


def test_fewer_queries_stand_at_the_last_positions():
    pattern = WithGlobals(Banded(1), 1)
    assert positions_kept(pattern, everything(3, 4)) == [".x.x", "..xx", "xxxx"]
    assert positions_kept(pattern, everything(1, 4)) == ["xxxx"]


def test_more_queries_than_keys():
    assert positions_kept(WithGlobals(Banded(1), 1), everything(4, 3)) == ["x.x", "x.x", ".xx", "xxx"]


def test_masks_that_differ_between_batch_rows():
    allowed = torch.stack([picture("xxx", "xxx", "xxx"), picture("xx.", "xx.", "xx.")]).unsqueeze(1)
    kept = WithGlobals(Banded(1), 1).keep(torch.zeros(2, 2, 3, 3), allowed)
    assert draw(kept[0, 0]) == ["x.x", ".xx", "xxx"]
    assert draw(kept[1, 0]) == ["x..", ".x.", "xx."]


@given(base_patterns, st.integers(1, 4), lengths, lengths, seeds)
@few_examples
def test_the_base_decides_about_ordinary_positions_alone(base, num_globals, num_queries, num_keys, seed):
    scores = torch.randn(2, num_queries, num_keys, generator=seeded(seed))
    allowed = random_mask(num_queries, num_keys, seed, share=0.8)
    kept = WithGlobals(base, num_globals).keep(scores, allowed, seeded(seed)).expand(scores.shape)
    queries, keys = max(num_queries - num_globals, 0), max(num_keys - num_globals, 0)
    everywhere = allowed.expand(scores.shape)
    assert torch.equal(kept[:, queries:], everywhere[:, queries:])
    assert torch.equal(kept[..., keys:], everywhere[..., keys:])
    ordinary = base.keep(scores[:, :queries, :keys], allowed[:queries, :keys], seeded(seed))
    assert torch.equal(kept[:, :queries, :keys], ordinary.expand(2, queries, keys))


@pytest.mark.parametrize("base", [Full(), TopK(2), Banded(3)], ids=str)
def test_globals_cannot_be_causal(base):
    with pytest.raises(ValueError, match=r"\+G1 cannot be causal: a global token sees the whole sequence"):
        attention(*inputs(), WithGlobals(base, 1), causal=True)


def test_globals_cannot_be_nested():
    with pytest.raises(ValueError, match=r"cannot be nested, got banded\(3\)\+G1 as the base"):
        WithGlobals(WithGlobals(Banded(3), 1), 1)


@pytest.mark.parametrize("num_globals", [0, -1])
def test_there_is_at_least_one_global_token(num_globals):
    with pytest.raises(ValueError, match=f"num_globals must be at least 1, got {num_globals}"):
        WithGlobals(Banded(3), num_globals)


@pytest.mark.parametrize("num_globals", [1.0, True, "1", None])
def test_the_number_of_global_tokens_is_an_integer(num_globals):
    with pytest.raises(ValueError, match="num_globals must be an integer"):
        WithGlobals(Banded(3), num_globals)


@pytest.mark.parametrize("base", ["banded(3)", None, Banded])
def test_the_base_is_a_pattern(base):
    with pytest.raises(ValueError, match="the base must be a pattern"):
        WithGlobals(base, 1)


def test_the_number_of_tokens_to_append_is_known():
    assert WithGlobals(Banded(3), 2).global_tokens() == 2
    assert Banded(3).global_tokens() == 0


def test_the_family_is_that_of_the_base():
    assert WithGlobals(Banded(3), 1).family == "input-agnostic"
    assert WithGlobals(TopK(3), 1).family == "input-dependent"
