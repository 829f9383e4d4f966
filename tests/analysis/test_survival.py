"""Kaplan-Meier against a published table, against scipy, and against what can be computed by hand."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semfocus.analysis.statistics import Estimate, kaplan_meier, median_time, restricted_mean

# Weeks of remission under 6-mercaptopurine, 21 patients (Freireich et al., Blood 21, 1963); True: relapsed.
RELAPSED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
IN_REMISSION = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
WEEKS = [*RELAPSED, *IN_REMISSION]
SEEN = [True] * len(RELAPSED) + [False] * len(IN_REMISSION)

runs = st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=12)


def test_the_published_table() -> None:
    curve = kaplan_meier(WEEKS, SEEN)
    assert curve.times == [6, 7, 10, 13, 16, 22, 23]
    assert curve.at_risk == [21, 17, 15, 12, 11, 7, 6]
    assert curve.events == [3, 1, 1, 1, 1, 1, 1]
    assert [round(value, 3) for value in curve.survival] == [0.857, 0.807, 0.753, 0.690, 0.627, 0.538, 0.448]
    assert median_time(WEEKS, SEEN).value == 23


def test_the_published_standard_error() -> None:
    """Greenwood's standard error at 6 weeks is 0.0764; the band is symmetric in log(-log S)."""
    curve = kaplan_meier(WEEKS, SEEN)
    survival = curve.survival[0]
    width = 1.959964 * 0.0764 / (survival * abs(math.log(survival)))
    assert curve.low[0] == pytest.approx(survival ** math.exp(width), abs=1e-3)
    assert curve.high[0] == pytest.approx(survival ** math.exp(-width), abs=1e-3)


@given(runs)
@settings(deadline=None)  # scipy takes its time to load
def test_agrees_with_scipy(data: list[tuple[int, bool]]) -> None:
    from scipy.stats import CensoredData, ecdf

    durations = [duration for duration, _ in data]
    reached = [seen for _, seen in data]
    curve = kaplan_meier(durations, reached)
    oracle = ecdf(CensoredData.right_censored(durations, [not seen for seen in reached])).sf
    for time, survival in zip(curve.times, curve.survival, strict=True):
        assert survival == pytest.approx(float(oracle.evaluate(time)), abs=1e-12)
    assert set(curve.times) == {duration for duration, seen in data if seen}


@given(runs, st.randoms(use_true_random=False))
def test_the_order_of_runs_changes_nothing(data: list[tuple[int, bool]], shuffle) -> None:
    shuffled = list(data)
    shuffle.shuffle(shuffled)
    for function in (kaplan_meier, median_time, lambda *each: restricted_mean(*each, 10)):
        assert function(*zip(*data, strict=True)) == function(*zip(*shuffled, strict=True))


def test_median_of_an_even_number_is_between_the_middle_two() -> None:
    assert median_time([2, 4, 8, 9], [True] * 4).value == 6


@given(runs)
def test_an_unknown_median_is_above_its_bound_whenever_the_rest_arrives(data: list[tuple[int, bool]]) -> None:
    durations, reached = [duration for duration, _ in data], [seen for _, seen in data]
    found = median_time(durations, reached)
    later = [duration if seen else duration + 1 for duration, seen in data]
    if found.value is None:
        assert found.beyond is not None
        assert found.beyond <= median_time(later, [True] * len(later)).value  # type: ignore[operator]


@given(runs, st.data())
def test_a_run_that_is_not_seen_to_arrive_never_lowers_the_median(data, draw) -> None:
    durations, reached = [duration for duration, _ in data], [seen for _, seen in data]
    place = draw.draw(st.integers(0, len(data) - 1))
    censored = [seen and number != place for number, seen in enumerate(reached)]
    before, after = median_time(durations, reached).value, median_time(durations, censored).value
    assert after is None or (before is not None and before <= after)


def test_median_beyond_what_was_observed() -> None:
    assert median_time([1, 2, 40, 40], [True] * 4).value == 21
    assert (
        median_time([1, 2, 40, 40], [True, True, False, False]).value is None
    )  # where the third is, nobody knows
    assert median_time([1, 2, 3, 40], [True, True, False, True]).value == 21
    assert median_time([5, 40, 40], [True, False, False]) == Estimate(None, 0.0, None, beyond=40)
    assert median_time([], []) == Estimate(None, None, None)


def test_limits_of_the_median_are_order_statistics() -> None:
    """Ten values: the second and the ninth, since P(at most 1 head in 10 throws) = 11/1024 <= 0.025 < 56/1024."""
    durations = [3, 1, 4, 10, 5, 9, 2, 6, 8, 7]
    assert median_time(durations, [True] * 10) == Estimate(5.5, 2, 9)
    reached = [duration < 9 for duration in durations]  # two never arrive: the ninth is not known
    assert median_time(durations, reached) == Estimate(5.5, 2, None)
    assert median_time([1, 2, 3, 4, 5], [True] * 5) == Estimate(3, 0.0, None)


def test_restricted_mean_by_hand() -> None:
    """Steps: 1 up to 2, then 2/3 up to the horizon of 10: 2 + 2/3 * 8."""
    assert restricted_mean([2, 10, 10], [True, False, False], 10).value == pytest.approx(2 + 16 / 3)
    assert restricted_mean([2, 4], [True, True], 10).value == 3


def test_restricted_mean_without_censoring_is_a_mean_with_one_run_more_on_each_side() -> None:
    """Lower limit: mean and standard error of 0, 2, 4, 6; upper limit: of 2, 4, 6, 10."""
    found = restricted_mean([2, 4, 6], [True] * 3, 10)
    assert found.value == pytest.approx(4)
    assert found.low == pytest.approx(3 - 1.959964 * math.sqrt(20 / 3 / 4))
    assert found.high == pytest.approx(5.5 + 1.959964 * math.sqrt(35 / 3 / 4), abs=1e-6)


def test_restricted_mean_needs_the_curve_up_to_the_horizon() -> None:
    assert restricted_mean([2, 5], [True, False], 10) == Estimate(None, None, None)
    assert restricted_mean([], [], 10) == Estimate(None, None, None)


@given(runs)
def test_restricted_mean_lies_in_its_interval(data: list[tuple[int, bool]]) -> None:
    found = restricted_mean([duration for duration, _ in data], [seen for _, seen in data], 12.5)
    if found.value is not None and found.low is not None and found.high is not None:
        assert 0 <= found.low <= found.value + 1e-9
        assert found.value <= found.high + 1e-9 <= 12.5 + 1e-9


def test_agreeing_runs_do_not_make_a_mean_certain() -> None:
    found = restricted_mean([40, 40, 40], [False] * 3, 40)
    assert found.value == 40
    assert found.low is not None
    assert found.low < 30


def test_senseless_durations_are_refused() -> None:
    with pytest.raises(ValueError, match="got 2 and 1"):
        kaplan_meier([1, 2], [True])
    with pytest.raises(ValueError, match="from 0 on, got -1"):
        kaplan_meier([-1], [True])
    with pytest.raises(ValueError, match="got nan"):
        kaplan_meier([math.nan], [True])
    with pytest.raises(ValueError, match="above 0, got 0"):
        restricted_mean([1], [True], 0)
