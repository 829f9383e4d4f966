"""Rank correlation with values that are only known to be large."""

import math

import pytest

from semfocus.analysis.statistics import Time
from semfocus.analysis.statistics.rank import Ranked, rank_correlation, rank_correlation_of_medians


def exact(*pairs: tuple[float, float]) -> list[Ranked]:
    return [Ranked(x, y, y) for x, y in pairs]


def test_a_perfect_order_and_its_opposite() -> None:
    up = [exact((1, 10), (2, 20), (3, 30))] * 5
    found = rank_correlation([each] for each in up)
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)
    assert (found.num_pairs, found.num_unknown, found.num_clusters) == (15, 0, 5)
    assert rank_correlation([[exact((3, 10), (2, 20), (1, 30))]] * 5).value == -1.0


def test_one_turned_pair_of_three_is_a_third() -> None:
    assert rank_correlation([[exact((1, 10), (3, 20), (2, 30))]]).value == pytest.approx(1 / 3)


def test_groups_are_not_compared_with_each_other() -> None:
    slow, fast = exact((1, 100), (2, 200)), exact((11, 1), (12, 2))
    assert rank_correlation([[slow, fast]]).value == rank_correlation([[slow], [fast]]).value == 1.0
    assert rank_correlation([[[*slow, *fast]]]).value < 0


def test_a_quantity_that_cannot_tell_two_apart_does_not_order_them() -> None:
    found = rank_correlation([[exact((1, 10), (1, 20))]])
    assert (found.value, found.num_pairs) == (0.0, 1)


def test_censored_times_are_compared_only_where_the_order_is_known() -> None:
    early, late = Time(5, True, 1), Time(50, True, 1)
    never = Time(50, False)
    assert rank_correlation([[[Ranked.of_time(1, early), Ranked.of_time(2, never)]]]).value == 1.0
    assert rank_correlation([[[Ranked.of_time(1, late), Ranked.of_time(2, never)]]]).value == 1.0, (
        "not there by epoch 50 is later than there at epoch 50"
    )
    unknown = rank_correlation([[[Ranked.of_time(1, Time(20, False)), Ranked.of_time(2, late)]]])
    assert (unknown.value, unknown.num_unknown) == (None, 1)
    both = rank_correlation([[[Ranked.of_time(1, never), Ranked.of_time(2, never)]]])
    assert (both.value, both.num_unknown) == (None, 1)


def test_few_clusters_have_no_interval_however_many_groups_they_have() -> None:
    found = rank_correlation([[exact((1, 1), (2, 2))] * 10] * 3)
    assert (found.value, found.low, found.num_clusters) == (1.0, None, 3)
    assert rank_correlation([[exact((1, 1), (2, 2))] * 10] * 4).low == 1.0


def test_an_order_that_only_some_clusters_have_gives_a_wide_interval() -> None:
    up, down = exact((1, 1), (2, 2)), exact((1, 2), (2, 1))
    found = rank_correlation([[up] * 5, [down] * 5] * 3)
    assert found.value == 0.0
    assert found.low < -0.5 < 0.5 < found.high, "groups of a cluster are no independent groups"
    inside = rank_correlation([[up, down] * 5] * 6)
    assert inside.value == 0.0
    assert -0.5 < inside.low < 0 < inside.high < 0.5, "what differs inside clusters is drawn too"


def test_clusters_are_represented_by_their_medians() -> None:
    clusters = [exact((place, 10 * place), (place, 10 * place), (100, -100)) for place in range(1, 7)]
    found = rank_correlation_of_medians(clusters)
    assert found.value == 1.0
    assert (found.num_pairs, found.num_clusters) == (15, 6)
    assert found.low < 1.0, "a drawn cluster may hold its outlier alone"
    assert rank_correlation_of_medians(clusters[:3]).low is None
    assert rank_correlation_of_medians([]).value is None


def test_a_median_between_a_bound_and_infinity_is_not_compared_with_what_lies_between() -> None:
    open_ended = [Ranked(1, 5, math.inf), Ranked(1, 6, math.inf)]
    found = rank_correlation_of_medians([open_ended, exact((2, 7))])
    assert (found.value, found.num_unknown) == (None, 1)
    assert rank_correlation_of_medians([open_ended, exact((2, 3))]).value == -1.0
