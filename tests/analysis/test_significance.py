"""The sign-flip test enumerated by hand and against scipy; Holm by hand."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semfocus.analysis.statistics import holm, sign_flip_p, smallest_p

whole = st.lists(st.integers(-9, 9).map(float), min_size=1, max_size=7)


def test_an_enumeration_worked_by_hand() -> None:
    """Values 1, 2, -4 sum to -1. The eight sums are ±7, ±5, ±3, ±1: all at least as far from 0 as 1.

    Values 1, -2, 4 sum to 3: of the same eight sums, ±7, ±5 and ±3 are as far: 6 of 8.
    Values 1, 2, 4 sum to 7: 2 of 8.
    """
    assert sign_flip_p([1, 2, -4]) == 1.0
    assert sign_flip_p([1, -2, 4]) == 0.75
    assert sign_flip_p([1, 2, 4]) == 0.25


def test_ties_count_as_far_as_they_are() -> None:
    """1, 1, -1: sums ±3 (2 of 8) and ±1 (6 of 8); observed 1. Rounding must not break the tie."""
    assert sign_flip_p([1, 1, -1]) == 1.0
    assert sign_flip_p([0.1, 0.2, 0.3, -0.6]) == 1.0
    assert sign_flip_p([0.1, 0.2, -0.3, 0.6]) == sign_flip_p([1, 2, -3, 6])
    assert sign_flip_p([0.1] * 10) == 2 / 1024  # added one by one, ten times 0.1 is less than 1


def test_no_difference_is_no_evidence() -> None:
    assert sign_flip_p([]) == 1.0
    assert sign_flip_p([0.0, 0.0]) == 1.0
    assert sign_flip_p([0.0, 0.0, 2.0]) == 1.0  # one pair that differs: 2/2
    assert sign_flip_p([0.0, 1.0, 2.0, 3.0]) == 0.25  # three that differ


@given(whole.filter(lambda values: len(values) > 1))
@settings(deadline=None)
def test_agrees_with_scipy(values: list[float]) -> None:
    from scipy.stats import permutation_test

    oracle = permutation_test(
        (values, [0.0] * len(values)),
        lambda x, y, axis: (x - y).sum(axis=axis),
        permutation_type="samples",
        n_resamples=math.inf,
        vectorized=True,
    )
    assert sign_flip_p(values) == pytest.approx(float(oracle.pvalue))


@given(whole)
def test_order_and_direction_change_nothing(values: list[float]) -> None:
    assert sign_flip_p(values) == sign_flip_p(sorted(values)) == sign_flip_p([-value for value in values])


@pytest.mark.parametrize(("num", "smallest"), [(0, 1.0), (1, 1.0), (3, 0.25), (5, 0.0625), (10, 2 / 1024)])
def test_the_smallest_attainable_p_is_attained(num: int, smallest: float) -> None:
    assert smallest_p(num) == smallest
    assert sign_flip_p([1.0] * num) == smallest


def test_many_pairs_are_drawn_and_never_give_zero() -> None:
    assert 0 < sign_flip_p([1.0] * 40) < 1e-4
    draw = random.Random(1)
    values = [draw.gauss(0.3, 1) for _ in range(30)]
    normal = math.erfc(abs(sum(values)) / math.sqrt(2 * sum(value**2 for value in values)))
    assert sign_flip_p(values) == pytest.approx(normal, abs=0.01)
    assert sign_flip_p(values) == sign_flip_p(values[::-1])


def test_values_without_bounds_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        sign_flip_p([1.0, math.inf])


def test_holm_by_hand() -> None:
    """Sorted: 0.01 * 4, then 0.02 * 3 = 0.06, 0.022 * 2 = 0.044 raised to 0.06, 0.5 * 1."""
    adjusted = holm({"d": 0.5, "b": 0.02, "a": 0.01, "c": 0.022})
    assert list(adjusted) == ["d", "b", "a", "c"]
    assert adjusted == pytest.approx({"a": 0.04, "b": 0.06, "c": 0.06, "d": 0.5})
    assert holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert holm({}) == {}
