"""The verdict by hand, and on simulated trials."""

import importlib
import itertools
import math
from pathlib import Path
from types import ModuleType

import pytest

from semfocus.analysis.statistics import sign_flip_p
from semfocus.analysis.statistics.power import detectable, power
from semfocus.analysis.statistics.significance import sign_flip_interval
from semfocus.trial.curve import Curve, Ended, PairedRatio, paired_ratio
from semfocus.trial.verdict import MOST_FALSE, judge, judge_pairs, seeds_needed
from semfocus.trial.wording import time_sentence

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def curve(*losses, seconds=1.0, diverged=False):
    return Curve([10 * place for place in range(len(losses))], losses, diverged, seconds)


def ended(loss):
    return Ended(loss, loss, loss, loss)


def pairs(*ratios, higher=None):
    """An arm with these ratios, that ended so much higher; by default lower where it was faster."""
    ends = higher or [math.log(ratio) for ratio in ratios]
    return [
        PairedRatio(seed, ratio, ratio, ended(1.0), ended(1.0 + end))
        for seed, (ratio, end) in enumerate(zip(ratios, ends, strict=True))
    ]


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


def test_a_run_that_diverged_lost_but_nobody_knows_by_how_many_steps():
    lasted, gone = curve(4, 3, 2, 2, 2, 2, 2), curve(4, 1, 0, diverged=True)
    found = paired_ratio(0, lasted, gone)
    assert math.isnan(found.ratio)
    assert not found.reached
    assert found.higher == math.inf
    assert paired_ratio(0, gone, lasted).higher == -math.inf
    assert paired_ratio(0, gone, gone).higher == 0.0


def test_a_run_ended_higher_if_its_lowest_or_its_late_loss_did_whichever_differs_more():
    # means of three looks: 3.5 3 2 1 0.5, and 3 2 1 1.33 1.5: lowest 1 against 0.5, late 1.5 against 0.5
    falling, rising = curve(4, 3, 2, 1, 0), curve(4, 2, 0, 1, 2)
    assert paired_ratio(0, falling, rising).higher == pytest.approx(1.0)
    assert paired_ratio(0, rising, falling).higher == pytest.approx(-1.0)
    assert rising.rose
    assert not falling.rose
    # lower at its lowest by 0.5 and higher at the end by 0.1
    assert PairedRatio(0, 1.0, 1.0, ended(1.0), Ended(0.5, 1.1, 0.5, 1.1)).higher == -0.5


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


def test_findings():
    faster = judge_pairs(pairs(0.62, 0.7, 0.71, 0.72, 0.75, 0.8), "top_k(8)")
    assert faster.finding == "faster"
    assert faster.p == 2 / 64
    assert (faster.steps.value, faster.num_reached) == (pytest.approx(0.714, abs=0.002), 6)
    slower = judge_pairs(pairs(1.2, 1.3, 1.4, 1.2, 1.3, 1.4), "banded(3)")
    assert slower.finding == "slower"
    assert slower.num_reached == 0
    nothing = judge_pairs(pairs(0.9, 1.1, 1.0, 1.05, 0.95, 1.02), "top_k(8)")
    assert nothing.finding == "no evidence"
    assert nothing.detectable is not None
    few = judge_pairs(pairs(0.5, 0.4, 0.3), "top_k(8)")
    assert few.finding == "too few seeds"
    assert few.power(100.0) == 0.0
    assert few.steps.value == pytest.approx(0.39, abs=0.005)


FASTER, EITHER = (0.62, 0.7, 0.71, 0.72, 0.75, 0.8), (0.9, 1.1, 1.0, 1.05, 0.95, 1.02)


@pytest.mark.parametrize(
    ("ratios", "higher", "finding"),
    [
        (FASTER, [1.0] * 6, "mixed"),
        (FASTER, [1.0] * 4 + [-1.0] * 2, "mixed"),
        (FASTER, [1.0] + [-1.0] * 5, "faster"),
        (EITHER, [1e-3] * 6, "worse"),
        (EITHER, [-1.0] * 6, "better"),
        (EITHER, [1.0] * 5 + [-1e-3], "no evidence"),
        ([1 / each for each in FASTER], [-1.0] * 6, "mixed"),
        ([1 / each for each in FASTER], [0.0] * 6, "slower"),
    ],
)
def test_steps_and_ends_together(ratios, higher, finding):
    assert judge_pairs(pairs(*ratios, higher=higher), "top_k(8)").finding == finding


STEPS = list(range(0, 1001, 40))


def learner(speed, floor, rising=0.0, seed=0):
    """Losses that fall to a floor, and rise again after 400 steps."""
    return Curve(
        STEPS,
        [
            floor + (4 - floor) * math.exp(-step / (speed + 3 * seed)) + rising * max(0, step - 400) / 600
            for step in STEPS
        ],
    )


def test_an_arm_that_learns_fast_and_never_gets_as_low_is_not_faster():
    full = {seed: learner(400, 1.0, seed=seed) for seed in range(6)}
    arm = {seed: learner(120, 1.9, rising=1.0, seed=seed) for seed in range(6)}
    verdict = judge(full, arm, "top_k(8)")
    assert verdict.num_reached == 0
    assert verdict.steps.high < 1  # it was first at its own lowest loss
    assert verdict.finding == "mixed"


def test_an_arm_that_got_as_low_and_then_overfits_is_not_simply_faster():
    full = {seed: learner(400, 1.0, seed=seed) for seed in range(6)}
    arm = {seed: learner(60, 1.0, rising=1.0, seed=seed) for seed in range(6)}
    verdict = judge(full, arm, "top_k(8)")
    assert verdict.num_reached == 6
    assert verdict.finding == "mixed"


def test_an_arm_that_ends_worse_is_a_difference_even_if_steps_show_none():
    full = {seed: learner(400, 1.0, seed=20 * (seed % 2)) for seed in range(6)}
    arm = {seed: learner(135, 1.9, rising=1.0, seed=10 * (seed % 3)) for seed in range(6)}
    verdict = judge(full, arm, "top_k(8)")
    assert verdict.steps.low < 1 < verdict.steps.high
    assert verdict.finding == "worse"


def test_steps_of_diverged_runs_are_not_compared():
    full = {seed: learner(400, 1.0, seed=seed) for seed in range(6)}
    gone = Curve(STEPS[:5], [4.0, 3.5, 3.0, 2.5, 2.0], diverged=True)
    verdict = judge(full, dict.fromkeys(full, gone), "top_k(8)")
    assert verdict.finding == "diverged"
    assert verdict.claims_a_difference
    assert verdict.detectable is None
    assert time_sentence(verdict) == ""
    other = judge(dict.fromkeys(full, gone), full, "top_k(8)")
    assert (other.finding, other.claims_a_difference) == ("diverged", True)
    both = judge(dict.fromkeys(full, gone), dict.fromkeys(full, gone), "top_k(8)")
    assert not both.claims_a_difference


def test_some_that_diverge_leave_no_verdict_unless_the_others_ended_higher_too():
    full = {seed: learner(400, 1.0, seed=seed) for seed in range(6)}
    gone = Curve(STEPS[:5], [4.0, 3.5, 3.0, 2.5, 2.0], diverged=True)
    fast = {seed: learner(200, 1.0, seed=seed) for seed in range(6)}
    some = judge(full, fast | {0: gone, 1: gone}, "top_k(8)")
    assert some.finding == "diverged"
    assert not some.claims_a_difference
    slow = {seed: learner(600, 1.0, seed=seed) for seed in range(6)}
    lost = judge(full, slow | {0: gone, 1: gone}, "top_k(8)")
    assert lost.claims_a_difference


def test_several_arms_are_judged_more_strictly():
    six, seven = (
        pairs(*[0.5 + 0.01 * seed for seed in range(6)]),
        pairs(*[0.5 + 0.01 * seed for seed in range(7)]),
    )
    assert judge_pairs(six, num_arms=2).finding == "too few seeds"
    assert judge_pairs(seven, num_arms=2).finding == "faster"
    assert [seeds_needed(num) for num in (1, 2, 3)] == [6, 7, 8]


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


def exchanged_share(simulation, world, num, num_arms=1):
    """The share of all exchanges of a trial's runs after which a difference is claimed: exactly how often
    verdicts are false where nothing differs, given two runs of each seed."""
    import numpy

    draw = numpy.random.default_rng(num)
    ((full, arm),) = simulation.curves(draw, world, num, simulation.NOTHING, 1)
    both = [(paired_ratio(0, full[seed], arm[seed]), paired_ratio(0, arm[seed], full[seed])) for seed in full]
    verdicts = [judge_pairs(chosen, "arm", num_arms) for chosen in itertools.product(*both)]
    return sum(each.claims_a_difference for each in verdicts) / len(verdicts)


@pytest.mark.parametrize("num", [5, 6, 7, 8])
@pytest.mark.parametrize("place", [0, 3, 5, 7, 8])
def test_false_verdicts_are_at_most_one_in_sixteen_for_any_runs(simulation, num, place):
    share = exchanged_share(simulation, simulation.WORLDS[place], num)
    assert share <= MOST_FALSE
    assert (share > 0) == (num > 5) or simulation.WORLDS[place].diverging


def test_false_verdicts_on_three_arms_together(simulation):
    for num in (7, 8):
        assert 3 * exchanged_share(simulation, simulation.WORLDS[3], num, num_arms=3) <= MOST_FALSE


def test_an_eager_test_is_caught(simulation, monkeypatch):
    import semfocus.trial.verdict as strictness

    monkeypatch.setattr(strictness, "ALPHA", 0.1)
    monkeypatch.setattr(strictness, "MOST_FALSE", 0.1)
    assert exchanged_share(simulation, simulation.WORLDS[0], 8) > MOST_FALSE


def test_simulated_power_is_what_verdicts_claim(simulation):
    found = simulation.seen(simulation.WORLDS[1], 8, 150)
    assert 0.5 < found.seen < 0.9  # not a case that anything would see
    assert found.seen == pytest.approx(found.claimed, abs=0.1)


def test_an_arm_that_ends_worse_is_never_called_faster_or_no_different(simulation):
    for effect in simulation.WORSE:
        assert simulation.missed(effect, 6, 10) == 0


def test_exchanging_the_runs_inverts_the_comparison(simulation):
    """Exactly: what both tests rest on."""
    import numpy

    draw = numpy.random.default_rng(0)
    for world in simulation.WORLDS:
        ((full, arm),) = simulation.curves(draw, world, 5, simulation.NOTHING, 1)
        for seed in full:
            there, back = paired_ratio(0, full[seed], arm[seed]), paired_ratio(0, arm[seed], full[seed])
            assert there.higher == -back.higher
            if not there.diverged:
                assert there.log == pytest.approx(-back.log)
