"""The sign-flip test enumerated by hand and against scipy; Holm by hand."""

import math
import random
import tracemalloc
from itertools import combinations

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from semfocus.analysis.statistics import holm, sign_flip_p, smallest_p
from semfocus.analysis.statistics.order import t_factor
from semfocus.analysis.statistics.significance import (
    DRAWS,
    _drawn_subsets,
    _drawn_sums,
    sign_flip_interval,
    sign_flip_intervals,
)

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


def test_a_weighted_test_by_hand() -> None:
    """1, 1 and 4 with weights 1, 1, 1/4 are 1, 1, 1; and one value of weight 4 outweighs three."""
    assert sign_flip_p([1, 1, -4], [1, 1, 0.25]) == sign_flip_p([1, 1, -1])
    assert sign_flip_p([1, -1, -1, -1], [4, 1, 1, 1]) == sign_flip_p([4, -1, -1, -1])


def test_weighted_limits_are_weighted_means_of_subsets() -> None:
    """With six values the limits are the smallest and the largest, whatever the weights."""
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    assert sign_flip_interval(values, weights=[1, 9, 1, 9, 1, 9]) == (1.0, 6.0)
    eight = [*values, 7.0, 8.0]
    weights = [1.0] * 7 + [50.0]
    parts = [part for num in range(1, 9) for part in combinations(range(8), num)]
    means = sorted(
        sum(eight[place] * weights[place] for place in part) / sum(weights[place] for place in part)
        for part in parts
    )
    assert sign_flip_interval(eight, weights=weights) == pytest.approx((means[5], means[-6]))


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=9), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_zero_is_outside_exactly_where_the_test_rejects(values: list[float], draw) -> None:
    weights = [draw.choice([0.5, 1.0, 2.0]) for _ in values]
    low, high = sign_flip_interval(values, weights=weights)
    rejects = sign_flip_p(values, weights) <= 0.05
    margin = 1e-6  # subsets whose sum is 0 but for rounding count as 0
    if low > margin or high < -margin:
        assert rejects
    if low < -margin and high > margin:
        assert not rejects


def test_beyond_twenty_values_the_drawn_patterns_agree_with_the_test_and_with_theory() -> None:
    draw = random.Random(3)
    for centre in (0.0, 0.3, 0.5):
        values = [draw.gauss(centre, 1) for _ in range(40)]
        low, high = sign_flip_interval(values)
        assert (low > 0 or high < 0) == (sign_flip_p(values) <= 0.05)
        mean, error = (
            sum(values) / 40,
            (sum(value**2 for value in values) / 40 - (sum(values) / 40) ** 2) ** 0.5,
        )
        assert (high - low) / 2 == pytest.approx(2.02 * error / math.sqrt(39), rel=0.05)  # Student's t
        assert (low + high) / 2 == pytest.approx(mean, abs=0.05)


def test_twenty_and_twenty_one_values_agree() -> None:
    draw = random.Random(5)
    values = [draw.gauss(0.4, 1) for _ in range(20)]
    counted, drawn = sign_flip_interval(values), sign_flip_interval([*values, sum(values) / 20])
    assert drawn == pytest.approx(counted, abs=0.05)


def test_several_levels_at_once_are_those_one_by_one() -> None:
    values = [0.3, -0.1, 0.8, 0.4, 0.5, 0.9, 1.4]
    levels = (0.001, 0.05, 0.1)
    assert sign_flip_intervals(values, levels) == [sign_flip_interval(values, level) for level in levels]
    assert sign_flip_intervals(values, levels)[0] == (None, None)


def test_an_infinite_value_leaves_the_limit_on_its_side_open() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, math.inf]
    assert sign_flip_interval(values)[1] == math.inf
    assert sign_flip_interval([-value for value in values])[0] == -math.inf


def test_drawn_patterns_need_little_memory_and_are_those_of_one_draw() -> None:
    """All patterns of 400 pairs as numbers would be 160 MB, and were kept."""
    num = 400
    values = numpy.arange(1.0, num + 1)
    whole = numpy.random.default_rng(num).integers(0, 2, size=(DRAWS // 2, num), dtype=numpy.int8)
    expected = whole[:: DRAWS // 20] @ values
    del whole
    tracemalloc.start()
    try:
        found = _drawn_sums(values)
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        _drawn_subsets.cache_clear()
    assert numpy.array_equal(found[:: DRAWS // 20], expected)
    assert kept < 6e6
    assert peak < 30e6


@pytest.mark.parametrize("num", [21, 24, 39])
def test_sums_that_are_looked_up_are_those_of_the_drawn_subsets(num: int) -> None:
    values = numpy.random.default_rng(0).standard_normal(num)
    drawn = numpy.random.default_rng(num).integers(0, 2, size=(DRAWS // 2, num), dtype=numpy.int8)
    plain = numpy.where(drawn == 1, values, 0.0).sum(axis=1)
    assert _drawn_sums(values) == pytest.approx(plain, abs=1e-12)


def test_intervals_asked_for_twice_are_not_shared() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    first = sign_flip_intervals(values, (0.05,))
    first.clear()
    assert sign_flip_intervals(values, (0.05,)) == [(1.0, 6.0)]


@pytest.mark.parametrize("alpha", [0.1, 0.05, 1 / 32, 0.001])
@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 9, 10, 57])
def test_the_quantile_of_student_is_scipys(freedom: int, alpha: float) -> None:
    assert t_factor(freedom, alpha) == pytest.approx(stdtrit(freedom, 1 - alpha / 2), rel=1e-10)
