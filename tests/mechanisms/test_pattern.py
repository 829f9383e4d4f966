"""What every pattern promises as a value, and `keep_largest`, which most selections rest on."""

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from semfocus.mechanisms import (
    Banded,
    BlockLocal,
    BottomK,
    Full,
    Pattern,
    Random,
    TopK,
    TopP,
    WithGlobals,
    attention,
    keep_largest,
    query_positions,
)
from tests.mechanisms.cases import EVERY_PATTERN, draw, few_examples, inputs, picture, random_mask, seeds

NAN, INF = float("nan"), float("inf")
COUNTED = {TopK: "k", BottomK: "k", Random: "k", Banded: "width", BlockLocal: "size"}


@pytest.mark.parametrize("cls", COUNTED)
@pytest.mark.parametrize("count", [2.5, True, "5", 5.0, None])
def test_a_count_is_an_integer_and_nothing_else(cls, count):
    with pytest.raises(ValueError, match=f"{cls.name}: {COUNTED[cls]} must be an integer, got {count!r}"):
        cls(count)


@pytest.mark.parametrize("cls", COUNTED)
@pytest.mark.parametrize("count", [0, -1])
def test_a_count_is_at_least_one(cls, count):
    with pytest.raises(ValueError, match=f"{cls.name}: {COUNTED[cls]} must be at least 1, got {count}"):
        cls(count)


@pytest.mark.parametrize("cls", COUNTED)
def test_a_count_is_readable_under_its_name(cls):
    assert getattr(cls(1), COUNTED[cls]) == 1


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_a_pattern_is_an_immutable_value(pattern):
    assert pattern == dataclasses.replace(pattern)
    assert hash(pattern) == hash(dataclasses.replace(pattern))
    for field in dataclasses.fields(pattern):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(pattern, field.name, getattr(pattern, field.name))


def test_patterns_of_different_kinds_are_different():
    assert len({*EVERY_PATTERN, TopK(3), WithGlobals(Banded(2), 2)}) == len(EVERY_PATTERN) + 2


@pytest.mark.parametrize(
    ("pattern", "family"),
    [
        (Full(), "full"),
        (Banded(5), "input-agnostic"),
        (BlockLocal(5), "input-agnostic"),
        (TopK(5), "input-dependent"),
        (TopP(0.5), "input-dependent"),
        (BottomK(5), "control"),
        (Random(5), "control"),
    ],
    ids=str,
)
def test_the_family_of_each_pattern(pattern, family):
    assert pattern.family == family


@pytest.mark.parametrize("pattern", EVERY_PATTERN, ids=str)
def test_only_what_is_allowed_is_kept(pattern):
    allowed = random_mask(6, 6, seed=3)
    kept = pattern.keep(torch.randn(6, 6), allowed)
    assert kept.dtype == torch.bool
    assert not (kept & ~allowed).any()


def test_a_pattern_without_keep_cannot_be_made():
    with pytest.raises(TypeError, match="keep"):
        Pattern()


def test_a_new_mechanism_is_a_subclass_with_one_method():
    @dataclasses.dataclass(frozen=True)
    class FirstKeys(Pattern):
        num: int
        name = "first_keys"
        family = "control"

        def keep(self, scores, allowed, generator=None):
            return allowed & (torch.arange(allowed.shape[-1]) < self.num)

    query, key, value = inputs()
    output = attention(query, key, value, FirstKeys(2))
    torch.testing.assert_close(output, attention(query, key[..., :2, :], value[..., :2, :]))
    assert str(FirstKeys(2)) == "first_keys(2)"


def test_the_last_query_stands_at_the_last_key():
    device = torch.device("cpu")
    assert query_positions(2, 5, device).tolist() == [[3], [4]]
    assert query_positions(3, 2, device).tolist() == [[-1], [0], [1]]


@pytest.mark.parametrize(
    ("priority", "allowed", "num_kept", "expected"),
    [
        ([3.0, 1.0, 2.0], "xxx", 1, "x.."),
        ([3.0, 1.0, 2.0], "xxx", 2, "x.x"),
        ([3.0, 1.0, 2.0], "xxx", 3, "xxx"),
        ([3.0, 1.0, 2.0], "xxx", 9, "xxx"),
        ([3.0, 1.0, 2.0], ".xx", 1, "..x"),
        ([3.0, 1.0, 2.0], ".x.", 2, ".x."),
        ([3.0, 1.0, 2.0], "...", 2, "..."),
        ([5.0, 5.0, 5.0], "xxx", 2, "xx."),
        ([5.0, 5.0, 5.0], ".xx", 1, ".x."),
        ([1.0, 5.0, 5.0, 5.0, 9.0], "xxxxx", 3, ".xx.x"),
        ([1.0, NAN, 2.0], "xxx", 1, ".x."),
        ([NAN, 1.0, 2.0], ".xx", 1, "..x"),
        ([1.0, INF, NAN], "xxx", 1, ".x."),
        ([1.0, -INF, -INF], "xxx", 2, "xx."),
        ([1.0, -INF, -INF], "x.x", 2, "x.x"),
    ],
)
def test_the_largest_allowed_are_kept(priority, allowed, num_kept, expected):
    assert draw(keep_largest(torch.tensor([priority]), picture(allowed), num_kept)) == [expected]


def test_no_keys_keep_nothing():
    assert keep_largest(torch.zeros(2, 0), torch.ones(2, 0, dtype=torch.bool), 3).shape == (2, 0)


def test_one_row_of_priorities_serves_many_masks():
    allowed = torch.stack([picture("xxx"), picture("x.x"), picture(".xx")])
    kept = keep_largest(torch.tensor([[1.0, 3.0, 2.0]]), allowed, 1)
    assert [draw(each) for each in kept] == [[".x."], ["..x"], [".x."]]


@given(st.lists(st.integers(-2, 2), min_size=1, max_size=9), st.integers(1, 10), seeds)
@few_examples
def test_the_kept_are_those_a_sort_by_value_then_index_puts_first(priority, num_kept, seed):
    allowed = random_mask(1, len(priority), seed)
    candidates = [index for index in range(len(priority)) if allowed[0, index]]
    expected = sorted(sorted(candidates, key=lambda index: (-priority[index], index))[:num_kept])
    kept = keep_largest(torch.tensor([priority], dtype=torch.float32), allowed, num_kept)
    assert kept[0].nonzero().flatten().tolist() == expected
