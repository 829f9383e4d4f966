"""The line that a trial decides with, and trials that go on until it does."""

import math
import random
from types import SimpleNamespace

import pytest

from semfocus.mechanisms import TopK
from semfocus.trial.decision import decide
from semfocus.trial.spec import FULL, SHARPER_FULL, Arm, TrialSettings
from semfocus.trial.trial import Prepared, carry_out
from semfocus.trial.verdict import ALPHA, MOST_FALSE, judge_pairs, seeds_needed, steps_alpha
from tests.trial.test_verdict import pairs

SETTINGS = TrialSettings(steps=200, looks=20)
TOP = Arm(TopK(8))


def decided(*ratios, higher=None, num_arms=1, looks=1, seconds=60.0):
    verdict = judge_pairs(pairs(*ratios, higher=higher), "top_k(8)", num_arms, looks=looks)
    return decide([verdict], seconds, looks)


def test_each_kind_of_decision():
    faster = decided(0.5, 0.55, 0.6, 0.5, 0.52, 0.58)
    assert (faster.kind, faster.arm) == ("switch", "top_k(8)")
    assert faster.text.startswith("Use top_k(8): it took 0.54 [")
    slower = decided(2.0, 2.1, 1.9, 2.0, 2.2, 1.8)
    assert slower.text == "Keep full attention: top_k(8) is slower."
    same = decided(0.98, 1.03, 1.01, 0.97, 1.02, 0.99, higher=[1, -1, 1, -1, 1, -1])
    assert same.text == "Keep full attention: top_k(8) is not faster; a factor of 1.3 is excluded."
    few = decided(0.5, 0.6)
    assert few.text == "Undecided: 2 seeds cannot show a difference: rerun with --seeds 6."
    scattered = decided(0.6, 1.5, 0.8, 1.2, 0.7, 1.3, higher=[1, -1, 1, -1, 1, -1])
    assert scattered.kind == "undecided"
    assert "scatter" in scattered.text


def test_the_seeds_that_are_missing_are_named_with_their_time():
    found = decided(0.75, 1.1, 0.9, 0.8, 1.0, 0.95, higher=[1, -1, 1, -1, 1, -1])
    assert found.kind == "undecided"
    number = int(found.text.rsplit(" ", 1)[1].rstrip("."))
    assert 7 <= number <= 20
    assert f"rerun with --seeds {number}" in found.text
    assert f"{number - 6} min of training" in found.text or number - 6 == 1


def test_of_several_patterns_the_fastest_is_named_and_all_are_paid_for():
    fast = judge_pairs(pairs(*[0.5] * 8), "top_k(4)", 3)
    faster = judge_pairs(pairs(*[0.4] * 8), "top_k(8)", 3)
    slow = judge_pairs(pairs(*[2.0] * 8), "top_k(16)", 3)
    assert decide([fast, faster, slow], 0.0, 1).arm == "top_k(8)"
    assert fast.alpha <= MOST_FALSE / 3
    one = judge_pairs(pairs(*[1.01, 0.99] * 4, higher=[1, -1] * 4), "top_k(4)", 2)
    assert decide([one, slow], 0.0, 1).text.startswith(
        "Keep full attention: top_k(4) is not faster, top_k(16) is slower"
    )


def test_what_makes_a_verdict_worth_little_decides_nothing():
    verdict = judge_pairs(pairs(*[0.5] * 6), "top_k(8)")
    found = decide([verdict], 0.0, 1, ["Full attention learned nothing in these steps."])
    assert found.text == "Undecided: full attention learned nothing in these steps."


def test_two_looks_cost_no_more_than_one():
    for num_arms in (1, 2, 3):
        first = seeds_needed(num_arms, 2)
        each = [
            steps_alpha(num, num_arms, 2) + 2.0 ** (1 - num) for num in (first, first + 5)
        ]  # steps, and ending on one side with every seed
        assert num_arms * sum(each) <= MOST_FALSE + 1e-12
        assert num_arms * 2 * steps_alpha(first + 5, num_arms, 2) <= ALPHA + 1e-12


class Made:
    """Trains nothing: an arm falls to its loss at a rate of its own, with a scatter between seeds."""

    def __init__(self, speed, scatter, seed=0):
        self.speed, self.scatter, self.draw = speed, scatter, random.Random(seed)
        self.runs = {}

    def records(self, specs):
        for spec in specs:
            self.runs.setdefault((spec.arm, spec.seed), self._record(spec))
        return [self.runs[spec.arm, spec.seed] for spec in specs]

    def _record(self, spec):
        speed = self.speed if spec.arm == TOP else 1.0
        rate = 4.0 * speed * math.exp(self.draw.gauss(0, self.scatter))
        floor = 0.1 * math.exp(self.draw.gauss(0, 0.01))
        steps = SETTINGS.look_steps()
        losses = [floor + 0.9 * math.exp(-rate * step / steps[-1]) for step in steps]
        curve = {"step": steps, "held_out_loss": losses, "seconds": [0.1 * step for step in steps]}
        return {
            "run": "r",
            "state": "done",
            "reason": None,
            "curve": curve,
            "inside": [],
            "seconds_per_step": 0.1,
        }


def trial(train, until_decided=True):
    data = SimpleNamespace(
        digest="d",
        longest=9,
        kind="text",
        description="made up",
        guess_loss=None,
        guess_accuracy=lambda num: None,
    )
    subject = SimpleNamespace(digest="m", name="model", is_cross_entropy=False)
    at_most = 12 if until_decided else None
    prepared = Prepared(subject, data, (FULL, TOP, SHARPER_FULL), 1, 7, SETTINGS, False, at_most)
    return carry_out(prepared, train)


@pytest.mark.parametrize(
    ("speed", "scatter", "kinds", "seeds"),
    [
        (2.0, 0.05, {"switch"}, {7}),
        (0.5, 0.05, {"keep"}, {7}),
        (1.0, 0.02, {"keep"}, {7}),
        (1.0, 2.0, {"undecided"}, {7}),  # futile: five seeds more would show nothing
        (1.25, 0.2, {"switch", "undecided", "keep"}, {12}),
    ],
    ids=["faster", "slower", "the same", "hopeless", "in between"],
)
def test_a_trial_goes_on_only_as_long_as_it_must(speed, scatter, kinds, seeds):
    results = [trial(Made(speed, scatter, seed)) for seed in range(6)]
    assert {each.decision().kind for each in results} <= kinds
    assert {len(each.records[FULL]) for each in results} == seeds


def test_arms_that_are_alike_are_rarely_told_apart():
    """The bound is 1 in 16; more than 12 of 60 happens less than once in a thousand times."""
    claims = [trial(Made(1.0, 0.3, seed)).of_patterns[0].claims_a_difference for seed in range(60)]
    assert sum(claims) <= 12
