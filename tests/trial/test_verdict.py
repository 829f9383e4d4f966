"""The verdict by hand, and on simulated trials."""

import importlib
import itertools
import math
from pathlib import Path
from types import ModuleType

import pytest

from semfocus.studies.statistics import sign_flip_p
from semfocus.studies.statistics.power import detectable, power
from semfocus.studies.statistics.sign_flip_interval import sign_flip_interval
from semfocus.trial.comparison import PairedRatio, paired_ratio
from semfocus.trial.curve import Curve
from semfocus.trial.verdict import judge, judge_pairs, seeds_needed
from semfocus.trial.wording import sentence, time_sentence, too_few

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def curve(*losses, seconds=1.0, diverged=False):
    return Curve([10 * place for place in range(len(losses))], losses, diverged, seconds)


def pairs(*ratios):
    return [PairedRatio(seed, ratio, ratio, ratio <= 1) for seed, ratio in enumerate(ratios)]


def test_passes_on_a_straight_line():
    falling = curve(4.0, 3.0, 2.0, 1.0, 0.0)
    # means of three looks: 3.5 3 2 1 0.5
    assert falling.best_so_far == [3.5, 3.0, 2.0, 1.0, 0.5]
    assert falling.passes(2.5) == 15.0
    assert falling.passes(0.5) == 40.0
    assert falling.passes(0.4) == math.inf
    assert falling.passes(9.0) == 5.0  # at once: half a look is the earliest that can be told


def test_a_rise_at_the_end_is_forgotten():
    assert curve(4.0, 2.0, 0.0, 2.0, 4.0).final == pytest.approx(4 / 3)


def test_ratio_where_the_arm_is_better_is_at_full_attentions_final_loss():
    full, arm = curve(4, 3, 2, 1, 0), curve(4, 2, 0, -2, -4, seconds=2.0)
    found = paired_ratio(0, full, arm)
    # full ends at 0.5 at step 40; the arm's means are 3 2 0 -2 -3: it is at 0.5 after 17.5 steps
    assert found.ratio == pytest.approx(17.5 / 40)
    assert found.seconds_ratio == pytest.approx(2 * 17.5 / 40)
    assert found.reached
    back = paired_ratio(0, arm, full)
    assert back.ratio == pytest.approx(40 / 17.5)
    assert not back.reached


def test_a_run_that_diverged_lost_by_no_more_than_is_known():
    lasted, gone = curve(4, 3, 2, 2, 2, 2, 2), curve(4, 1, 0, diverged=True)
    found = paired_ratio(0, lasted, gone)
    assert found.bound
    assert not found.reached
    assert found.ratio == pytest.approx(60 / lasted.passes(2.0))
    assert paired_ratio(0, gone, lasted).ratio == pytest.approx(1 / found.ratio)
    assert paired_ratio(0, gone, gone).ratio == 1.0


def test_the_interval_excludes_exactly_what_the_test_rejects():
    for values in ([0.1, 0.5, 0.9, 0.2, 0.4, 0.7, -0.05], [0.3, -0.2, 0.5, 0.1, 0.9, 0.8, 0.6, 1.2]):
        low, high = sign_flip_interval(values)
        for limit, inside in ((low, 1e-6), (high, -1e-6)):
            assert sign_flip_p([value - limit - inside for value in values]) > 0.05
            assert sign_flip_p([value - limit + inside for value in values]) <= 0.05


def test_power_by_counting():
    # with 6 values only unanimity counts: the chance of six heads at P(value > 0)
    chance = 0.5 * (1 + math.erf(1.5 / math.sqrt(2)))
    assert power(6, 1.5, 1.0) == pytest.approx(chance**6, abs=0.03)
    assert power(6, 0.0, 1.0) == pytest.approx(1 / 64, abs=0.01)
    assert power(12, 1.0, 1.0) == pytest.approx(0.88, abs=0.02)  # Student's
    assert power(6, detectable(6, 0.2), 0.2) == pytest.approx(0.8, abs=0.01)
    assert detectable(5, 0.2) is None


def test_findings_and_their_words():
    faster = judge_pairs(pairs(0.62, 0.7, 0.71, 0.72, 0.75, 0.8), "top_k(8)")
    assert faster.finding == "faster"
    assert faster.p == 2 / 64
    assert sentence(faster) == (
        "top_k(8) reached full attention's final loss in 0.71 [0.62, 0.80] of the steps, 6 seeds."
    )
    slower = judge_pairs(pairs(1.2, 1.3, 1.4, 1.2, 1.3, 1.4), "banded(3)")
    assert slower.finding == "slower"
    assert "missed full attention's final loss in 6 of them" in sentence(slower)
    nothing = judge_pairs(pairs(0.9, 1.1, 1.0, 1.05, 0.95, 1.02), "top_k(8)")
    assert nothing.finding == "no evidence"
    assert "with 6 seeds a factor of 1.2 would have been seen" in sentence(nothing)
    few = judge_pairs(pairs(0.5, 0.4, 0.3), "top_k(8)")
    assert few.finding == "too few seeds"
    assert few.power(100.0) == 0.0
    assert "use 6 or more" in too_few(3)
    assert sentence(few).startswith("top_k(8) took 0.39 of the steps")
    assert "a step cost 1.00 times" in time_sentence(faster)


def test_several_arms_are_judged_more_strictly():
    six, seven = (
        pairs(*[0.5 + 0.01 * seed for seed in range(6)]),
        pairs(*[0.5 + 0.01 * seed for seed in range(7)]),
    )
    assert judge_pairs(six, num_arms=2).finding == "too few seeds"
    assert judge_pairs(seven, num_arms=2).finding == "faster"
    assert seeds_needed(2) == 7


def test_only_seeds_that_both_have_count():
    one = curve(4, 3, 2)
    assert judge({0: one, 1: one}, {1: one, 2: one}).num_seeds == 1
    with pytest.raises(ValueError, match="no seed has both"):
        judge({0: one}, {1: one})


@pytest.mark.parametrize("bad", [([0], [1.0]), ([0, 0], [1.0, 1.0]), ([0, 1], [1.0, math.nan])])
def test_what_is_no_curve(bad):
    with pytest.raises(ValueError):
        Curve(*bad)


@pytest.fixture
def simulation(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("trial_verdict")


@pytest.mark.parametrize("num", [5, 6, 8])
def test_simulated_trials(simulation, num):
    for world in (simulation.WORLDS[1], simulation.WORLDS[3]):
        found = simulation.outcome(world, num, 60)
        assert (
            found.wrong <= 0.13
        )  # 60 trials at a true 5 %: more than 7 once in 100 times; the draws are fixed
        assert found.seen == pytest.approx(found.claimed, abs=0.2)


def test_the_simulation_catches_a_test_that_is_too_eager(simulation, monkeypatch):
    import semfocus.trial.verdict as verdict

    monkeypatch.setattr(verdict, "ALPHA", 0.3)
    assert simulation.outcome(simulation.WORLDS[0], 6, 60).wrong > 0.13


def test_the_ratio_is_a_fair_coin_where_nothing_differs(simulation):
    """Exchanging the runs inverts the ratio, exactly: what the test rests on."""
    import random

    draw = random.Random(0)
    for world, _ in itertools.product(simulation.WORLDS, range(5)):
        one, other = (simulation.curve(draw, world, 0.0, 1.0) for _ in range(2))
        assert paired_ratio(0, one, other).log == pytest.approx(-paired_ratio(0, other, one).log)
