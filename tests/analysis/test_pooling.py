"""Speedups pooled over tasks: by hand, against a textbook formula, and in simulated studies."""

import math
import random
from statistics import fmean, stdev

import pytest

from semfocus.analysis.statistics import Speedup, Time, paired_speedup, sign_flip_p
from semfocus.analysis.statistics.order import t_factor
from semfocus.analysis.statistics.pooling import pooled_speedup


def of_ratios(*ratios: float) -> Speedup:
    """Pairs with these ratios; a negative one: at most so much, since the arm never arrived."""
    base = {seed: Time(100 * abs(ratio), True) for seed, ratio in enumerate(ratios)}
    arm = {seed: Time(100, ratio > 0) for seed, ratio in enumerate(ratios)}
    return paired_speedup(base, arm)


def test_each_task_counts_the_same_however_many_seeds_it_has() -> None:
    found = pooled_speedup({"a": of_ratios(2), "b": of_ratios(8, 8, 8)})
    assert found.ratio == pytest.approx(4)
    assert (found.num_pairs, found.num_ahead) == (4, 4)


def test_with_equal_seeds_p_is_that_of_all_pairs_together() -> None:
    one, other = of_ratios(2, 3, 0.9), of_ratios(1.5, 0.8, 4)
    assert pooled_speedup({"a": one, "b": other}).p == sign_flip_p([*one.logs, *other.logs])


def test_random_effects_by_the_textbook() -> None:
    """Task means of logs 1, 2, 6 with next to no scatter within: the mean 3, its error by t with 2 degrees of
    freedom.
    """
    tasks = {
        name: of_ratios(*[math.exp(mean)] * 4) for name, mean in zip("abc", (1.0, 2.0, 6.0), strict=True)
    }
    found = pooled_speedup(tasks)
    spread = stdev([1.0, 2.0, 6.0])
    width = t_factor(2) * spread / math.sqrt(3)
    assert found.on_average == pytest.approx((math.exp(3 - width), math.exp(3 + width)))
    far = t_factor(1) * math.sqrt(spread**2 + spread**2 / 3)
    assert found.new_task == pytest.approx((math.exp(3 - far), math.exp(3 + far)))
    assert found.between_tasks == pytest.approx(spread)


def test_one_task_has_no_random_effects_and_two_no_prediction() -> None:
    one = pooled_speedup({"a": of_ratios(2, 3, 4)})
    assert (one.on_average, one.new_task, one.between_tasks) == (None, None, None)
    two = pooled_speedup({"a": of_ratios(2, 3, 4), "b": of_ratios(2, 2, 5)})
    assert two.on_average is not None
    assert two.new_task is None


def test_tasks_that_agree_by_chance_are_no_surer_than_their_seeds() -> None:
    """The same mean on every task, and seeds that scatter widely."""
    found = pooled_speedup({name: of_ratios(1, 4, 2, 2) for name in "abcd"})
    assert found.on_average is not None
    assert found.on_average[0] < 1.9
    assert found.between_tasks == 0


def test_a_bounded_pair_enters_by_the_ratio_nearest_to_one() -> None:
    found = pooled_speedup({"a": of_ratios(2, 2, 2), "b": of_ratios(2, 2, -0.5)})
    assert (found.bound, found.num_bounded) == ("at most", 1)
    assert found.ratio == pytest.approx(math.exp(fmean([math.log(2)] * 5 + [math.log(0.5)])))
    never = Speedup(None, None, None, paired_speedup({0: Time(9, False)}, {0: Time(9, False)}).pairs)
    assert pooled_speedup({"a": of_ratios(2), "b": never}).bound == "nearest to 1"


def test_the_interval_leaves_out_one_exactly_where_the_test_rejects() -> None:
    draw = random.Random(0)
    for num_tasks, num_seeds in ((2, 5), (3, 6), (6, 5)):
        for effect in (0.0, 0.1, 0.3):
            tasks = {
                str(task): of_ratios(*(math.exp(draw.gauss(effect, 0.3)) for _ in range(num_seeds)))
                for task in range(num_tasks)
            }
            found = pooled_speedup(tasks)
            assert found.low is not None
            assert found.high is not None
            assert (found.low > 1 or found.high < 1) == (found.p <= 0.05)


def test_simulated_coverage_over_these_tasks_and_for_a_new_one() -> None:
    """300 studies of six tasks whose true log speedups scatter by 0.2: shares with a margin of four standard errors."""
    draw = random.Random(1)
    these = general = new = 0
    for _ in range(300):
        truths = [draw.gauss(0.25, 0.2) for _ in range(6)]
        tasks = {
            str(place): of_ratios(*(math.exp(draw.gauss(truth, 0.25)) for _ in range(5)))
            for place, truth in enumerate(truths)
        }
        found = pooled_speedup(tasks)
        assert found.low is not None
        assert found.high is not None
        assert found.on_average is not None
        assert found.new_task is not None
        these += found.low <= math.exp(fmean(truths)) <= found.high
        general += found.on_average[0] <= math.exp(0.25) <= found.on_average[1]
        new += found.new_task[0] <= math.exp(draw.gauss(0.25, 0.2)) <= found.new_task[1]
    assert these / 300 > 0.90
    assert general / 300 > 0.90
    assert new / 300 > 0.90


def test_tasks_without_pairs_are_refused() -> None:
    for tasks in ({}, {"a": Speedup(None, None, None)}):
        with pytest.raises(ValueError, match="have pairs"):
            pooled_speedup(tasks)


def test_pairs_that_nobody_finished_show_no_equivalence() -> None:
    """On each task five of six seeds never arrived in either arm: what is known of them is nothing, not "no
    difference".
    """
    base = {seed: Time(60, False) for seed in range(5)} | {5: Time(50, True)}
    arm = {seed: Time(60, False) for seed in range(5)} | {5: Time(48, True)}
    found = pooled_speedup({name: paired_speedup(base, arm) for name in "abc"})
    assert not found.is_equivalent
    assert (found.low, found.high, found.inner_high) == (None, None, None)
    assert found.on_average is None


def test_a_baseline_that_never_arrived_leaves_the_upper_limit_open() -> None:
    base = {seed: Time(60, False) for seed in range(6)}
    arm = {seed: Time(57.0 + seed % 2, True) for seed in range(6)}
    found = pooled_speedup({name: paired_speedup(base, arm) for name in "abc"})
    assert found.high is None
    assert found.low is not None
    assert found.low > 1
    assert not found.is_equivalent
