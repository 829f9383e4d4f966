"""Paired speedups by hand, with every way in which a pair can be censored."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semfocus.analysis.statistics import Pair, Speedup, Time, paired_speedup

epochs = st.builds(
    lambda value, reached: Time(float(value), reached, 1.0 if reached else 0.0),
    st.integers(0, 60),
    st.booleans(),
)
studies = st.lists(st.tuples(epochs, epochs), min_size=0, max_size=9)


def at(*values: float) -> dict[int, Time]:
    """Reached at these times; a negative one: censored."""
    return {seed: Time(abs(value), value > 0) for seed, value in enumerate(values)}


def only_pair(base: Time, arm: Time) -> tuple[float, float]:
    (pair,) = paired_speedup({7: base}, {7: arm}).pairs
    assert pair.seed == 7
    return pair.ratio_low, pair.ratio_high


def test_what_a_pair_says() -> None:
    assert only_pair(Time(40, True), Time(8, True)) == (5, 5)
    assert only_pair(Time(40, False), Time(8, True)) == (5, math.inf)  # at least
    assert only_pair(Time(40, True), Time(80, False)) == (0, 0.5)  # at most
    assert only_pair(Time(40, False), Time(80, False)) == (0, math.inf)  # nothing


def test_there_untrained_is_within_the_first_epoch() -> None:
    assert only_pair(Time(40, True, 1), Time(0, True, 1)) == (40, math.inf)
    assert only_pair(Time(0, True, 1), Time(40, True, 1)) == (0, 1 / 40)
    assert only_pair(Time(0, True, 1), Time(0, True, 1)) == (0, math.inf)
    assert only_pair(Time(9.0, True, 3.0), Time(0, True, 1.5)) == (6, math.inf)  # seconds: 1.5 an epoch
    assert only_pair(Time(9.0, True), Time(0, True)) == (0, math.inf)  # an epoch's seconds are not known


def test_the_value_nearest_to_no_difference() -> None:
    assert Pair(0, 5, math.inf, 5, math.inf).nearest_log == math.log(5)
    assert Pair(0, 0, 0.5, 0, 0.5).nearest_log == math.log(0.5)
    assert Pair(0, 0.3, math.inf, 0.3, math.inf).nearest_log == 0
    assert Pair(0, 0, math.inf, 0, math.inf).nearest_log == 0


def test_the_median_of_three() -> None:
    """Ratios 2, 4, 16: logs log 2 * (1, 2, 4), mean 7/3, standard error sqrt(7/3)/sqrt(3), t with 2 degrees 4.3027."""
    speedup = paired_speedup(at(20, 40, 160), at(10, 10, 10))
    assert speedup.ratio == pytest.approx(4)
    width = 4.30265 * math.sqrt(7 / 9)
    assert speedup.low == pytest.approx(2 ** (7 / 3 - width), rel=1e-4)
    assert speedup.high == pytest.approx(2 ** (7 / 3 + width), rel=1e-4)
    assert (speedup.method, speedup.num_pairs) == ("t", 3)
    assert (speedup.at_least, speedup.at_most) == (False, False)


def test_the_median_of_an_even_number_is_taken_between_logs() -> None:
    assert paired_speedup(at(20, 80), at(10, 10)).ratio == pytest.approx(4)  # between 2 and 8


def test_from_six_pairs_on_the_limits_invert_the_sign_flip_test() -> None:
    """Six: one of 64 patterns may be rejected on each side, so the limits are the smallest and the largest ratio."""
    speedup = paired_speedup(at(20, 30, 40, 50, 60, 70), at(*[10] * 6))
    assert (speedup.low, speedup.high) == (pytest.approx(2), pytest.approx(7))
    assert (speedup.method, speedup.p) == ("sign flip", 2 / 64)
    # Eight: the sixth smallest of the means of all subsets of the logs
    logs = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    eight = paired_speedup(at(*[10 * 2**log for log in logs]), at(*[10] * 8))
    means = sorted(sum(part) / len(part) for num in range(1, 9) for part in combinations(logs, num))
    assert eight.low == pytest.approx(2 ** means[5])
    assert eight.high == pytest.approx(2 ** means[-6])


def test_two_pairs_give_no_interval() -> None:
    two = paired_speedup(at(20, 40), at(10, 10))
    assert (two.low, two.high, two.method) == (None, None, "none")


def test_where_the_test_rejects_the_interval_says_so_however_little_else_is_known() -> None:
    """Seven seeds far ahead, and one run of the arm that never arrived: no ratio bounds the mean from below,
    the test does.
    """
    speedup = paired_speedup(at(*[50] * 8), at(*[5] * 7, -60))
    assert speedup.p == pytest.approx(4 / 256)  # only the one that is behind may turn its sign
    assert (speedup.low, speedup.is_ahead) == (1.0, True)
    behind = paired_speedup(at(*[5] * 7, -60), at(*[50] * 8))
    assert (behind.high, behind.is_behind) == (1.0, True)
    six = paired_speedup(at(*[50] * 6), at(*[5] * 5, -60))
    assert six.p == pytest.approx(4 / 64)
    assert (six.low, six.is_ahead) == (None, False)


def test_equivalence_is_shown_by_a_narrow_interval_and_not_by_few_seeds() -> None:
    base = at(*[100] * 8)
    near = at(98, 103, 101, 97, 102, 99, 100, 104)
    assert paired_speedup(base, near).is_equivalent
    assert not paired_speedup(base, at(50, 200, 100, 60, 160, 95, 150, 55)).is_equivalent
    assert not paired_speedup(at(*[100] * 5), at(98, 103, 101, 97, 102)).is_equivalent
    assert not paired_speedup(base, at(*[60] * 8)).is_equivalent


@given(st.lists(st.tuples(epochs, epochs), min_size=6, max_size=10))
def test_the_verdict_of_the_interval_is_that_of_the_test(study: list[tuple[Time, Time]]) -> None:
    speedup = paired_speedup(*by_seed(study, list(range(len(study)))))
    rejects = speedup.p is not None and speedup.p <= 0.05
    total = sum(speedup.logs)
    if speedup.is_ahead or speedup.is_behind:
        assert rejects
        assert speedup.is_ahead == (total > 0)
    elif rejects:  # then the median lies on the other side of 1, or is not known
        assert speedup.ratio is None or (speedup.ratio - 1) * total <= 0


def test_a_censored_baseline_gives_at_least() -> None:
    speedup = paired_speedup(at(20, -50, -60), at(10, 10, 10))
    assert speedup.ratio == pytest.approx(5)
    assert speedup.at_least
    assert speedup.high is None
    exact = paired_speedup(at(20, 50, 60), at(10, 10, 10))
    assert speedup.low == pytest.approx(exact.low)  # as if they had arrived right there


def test_a_censored_minority_of_the_arm_leaves_a_median_between_two_bounds() -> None:
    """Two of ten runs of the arm never arrived. Eight ratios are 0.5 to 0.8; the others may be anything up to 0.9:
    all ten are below 1, and so is the median, wherever it lies.
    """
    base, arm = at(*[40] * 10), at(80, 75, 70, 65, 60, 58, 55, 50, -45, -45)
    speedup = paired_speedup(base, arm)
    assert speedup.at_least
    assert speedup.largest is not None
    assert speedup.ratio is not None
    assert speedup.ratio < speedup.largest < 1
    assert speedup.is_above_one is False
    assert speedup.p == 2 / 2**10
    assert speedup.is_behind
    wider = paired_speedup(base, at(80, 75, 70, 65, 30, 28, 25, 20, -35, -35))
    assert wider.is_above_one is None, "the median may lie on either side"


def test_a_censored_minority_need_not_blur_the_median() -> None:
    speedup = paired_speedup(at(20, 40, -160), at(10, 10, 10))
    assert speedup.ratio == pytest.approx(4)
    assert not speedup.at_least
    assert speedup.high is None


def test_a_censored_arm_gives_at_most() -> None:
    speedup = paired_speedup(at(20, 20, 20), at(-40, -40, 10))
    assert speedup.ratio == pytest.approx(0.5)
    assert speedup.at_most
    assert speedup.low is None


def test_nobody_arrives_and_nothing_is_known() -> None:
    speedup = paired_speedup(at(-40, -40, -40), at(-40, -40, -40))
    assert (speedup.ratio, speedup.low, speedup.high) == (None, None, None)
    assert speedup.num_pairs == 3


def test_few_pairs() -> None:
    assert paired_speedup({}, {}) == Speedup(None, None, None)
    assert paired_speedup({1: Time(2, True)}, {2: Time(2, True)}).num_pairs == 0
    one = paired_speedup(at(20), at(10))
    assert one.ratio == pytest.approx(2)
    assert (one.low, one.high, one.method) == (None, None, "none")


def test_whole_epochs_that_agree_do_not_make_a_ratio_certain() -> None:
    """Epochs 4 and 2 mean between 3 and 4, and between 1 and 2: a ratio from 1.5 to 4."""
    base = {seed: Time(4, True, 1) for seed in range(3)}
    arm = {seed: Time(2, True, 1) for seed in range(3)}
    speedup = paired_speedup(base, arm)
    assert speedup.ratio == pytest.approx(2)
    assert (speedup.low, speedup.high) == (pytest.approx(1.5), pytest.approx(4))


def by_seed(study: list[tuple[Time, Time]], seeds: list[int]) -> tuple[dict[int, Time], dict[int, Time]]:
    return tuple(dict(zip(seeds, times, strict=True)) for times in zip(*study, strict=True)) or ({}, {})  # type: ignore[return-value]


@given(studies, st.randoms(use_true_random=False))
def test_names_and_order_of_seeds_change_nothing(study: list[tuple[Time, Time]], draw) -> None:
    seeds = draw.sample(range(1000), len(study))
    one, other = (
        paired_speedup(*by_seed(study, list(range(len(study))))),
        paired_speedup(*by_seed(study, seeds)),
    )
    for name in ("ratio", "low", "high", "at_least", "at_most", "method"):
        assert getattr(one, name) == pytest.approx(getattr(other, name)), name
    assert sorted(one.logs) == sorted(other.logs)


@given(studies)
def test_the_other_way_round_is_the_inverse(study: list[tuple[Time, Time]]) -> None:
    base, arm = by_seed(study, list(range(len(study))))
    there, back = paired_speedup(base, arm), paired_speedup(arm, base)
    assert [-log for log in there.logs] == pytest.approx(back.logs)
    assert (there.low is None) == (back.high is None)
    if there.low is not None and back.high is not None:
        assert there.low == pytest.approx(1 / back.high)


@given(studies)
def test_the_ratio_lies_in_its_interval(study: list[tuple[Time, Time]]) -> None:
    speedup = paired_speedup(*by_seed(study, list(range(len(study)))))
    if speedup.ratio is not None:
        assert speedup.low is None or speedup.low <= speedup.ratio * (1 + 1e-9)
        assert speedup.high is None or speedup.at_least or speedup.ratio <= speedup.high * (1 + 1e-9)
