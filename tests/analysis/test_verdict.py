"""The one verdict: when there is none, and that it never contradicts the numbers beside it."""

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from semfocus.analysis.findings import Finding, findings_of
from semfocus.analysis.statistics import Speedup, Time, paired_speedup
from semfocus.analysis.statistics.speedup import EQUIVALENT
from semfocus.analysis.summaries import analyse
from semfocus.analysis.verdict import FEWEST_PAIRS, FEWEST_POOLED, verdict_of, why_open
from semfocus.report.tables import target_table
from tests.analysis.records import CASES, arm

PRIMARY = ("top_k(5)", "full")
FULL = [40, 47, 58, 44, 50, 42]


def of_logs(logs: list[float]) -> Speedup:
    base = {seed: Time(1e6 * math.exp(log), True) for seed, log in enumerate(logs)}
    return paired_speedup(base, {seed: Time(1e6, True) for seed in base})


def test_no_verdict_where_the_median_does_not_move_with_the_test() -> None:
    """Six seeds gain, seven do not differ: the test rejects, and the median is 1."""
    speedup = of_logs([1.0] * 6 + [0.0] * 7)
    assert speedup.p == 2 / 64
    assert speedup.ratio == 1
    assert verdict_of(speedup) == "undecided"


def test_no_equivalence_where_the_median_lies_outside() -> None:
    """Seven of thirteen seeds are 1.35x faster, six as much slower: the mean is within a factor of 1.25, the
    median is not.
    """
    speedup = of_logs([0.3] * 7 + [-0.3] * 6)
    assert speedup.ratio == pytest.approx(1.35, abs=0.01)
    assert verdict_of(speedup) == "undecided"
    assert verdict_of(of_logs([0.05] * 7 + [-0.05] * 6)) == "equivalent"


def test_no_verdict_where_the_estimate_is_not_known() -> None:
    """Seven pairs that never arrived tell nothing; the six others agree."""
    never = {seed: Time(9, False) for seed in range(7)}
    base = never | {seed: Time(50, True) for seed in range(7, 13)}
    arm_times = never | {seed: Time(5, True) for seed in range(7, 13)}
    speedup = paired_speedup(base, arm_times)
    assert speedup.p == 2 / 64
    assert verdict_of(speedup) == "undecided"


TIMES = st.tuples(st.integers(1, 40), st.booleans()).map(lambda each: Time(each[0], each[1], 1.0))


@given(st.lists(st.tuples(TIMES, TIMES), min_size=FEWEST_PAIRS, max_size=14))
@settings(max_examples=150, deadline=None)
def test_a_verdict_is_on_the_side_of_its_estimate(pairs: list[tuple[Time, Time]]) -> None:
    base, arm_times = ({seed: pair[place] for seed, pair in enumerate(pairs)} for place in (0, 1))
    found = paired_speedup(base, arm_times)
    verdict = verdict_of(found)
    if verdict == "faster":
        assert found.ratio is not None
        assert found.ratio > 1
        assert not found.at_most
    elif verdict == "slower":
        assert found.ratio is not None
        assert found.ratio < 1
        assert not found.at_least or (found.largest is not None and found.largest < 1)
    elif verdict == "equivalent":
        assert found.ratio is not None
        assert 1 / EQUIVALENT < found.ratio < EQUIVALENT


#: two of ten runs of the slower arm never arrived
_TWO_MISSING = [
    (Time(40, True, 1.0), Time(abs(time), time > 0, 1.0))
    for time in (80, 75, 70, 65, 60, 58, 55, 50, -45, -45)
]


@given(st.lists(st.tuples(TIMES, TIMES), min_size=FEWEST_PAIRS, max_size=14))
@example(_TWO_MISSING)
@settings(max_examples=150, deadline=None)
def test_who_is_called_the_baseline_changes_no_verdict(pairs: list[tuple[Time, Time]]) -> None:
    base, arm_times = ({seed: pair[place] for seed, pair in enumerate(pairs)} for place in (0, 1))
    one, other = (verdict_of(paired_speedup(*both)) for both in ((base, arm_times), (arm_times, base)))
    assert (one == "faster") == (other == "slower")
    assert (one == "slower") == (other == "faster")


def over_tasks(seeds: dict[str, int]) -> list[Finding]:
    records = []
    for task, num in seeds.items():
        records += arm("full", FULL[:num], task=task) + arm("top_k(5)", [7] * num, task=task)
    return pooled(records)


def pooled(records: list[dict[str, Any]]) -> list[Finding]:
    return [each for each in findings_of(analyse(records), [PRIMARY]) if each.task is None]


def test_pooled_verdicts_ask_for_three_pairs_on_each_task() -> None:
    """Three tasks with two seeds that agree have p = 1/32, and every task hangs on a seed."""
    (few,) = over_tasks({"even_pairs": 2, "parity": 2, "cycle_navigation": 2})
    assert few.p == 2 / 64
    assert (few.verdict, why_open(few.speedup)) == ("undecided", "too few seeds")
    (enough,) = over_tasks({"even_pairs": FEWEST_POOLED, "parity": FEWEST_POOLED})
    assert enough.verdict == "faster"


def test_a_task_with_too_few_pairs_is_left_out_beside_others_and_named() -> None:
    (found,) = over_tasks({"even_pairs": 6, "parity": 6, "cycle_navigation": 2})
    assert (found.verdict, found.num_tasks, found.left_out) == ("faster", 2, ("cycle_navigation",))


def parity_stays_at_97() -> list[Finding]:
    records = []
    for task in ("even_pairs", "parity", "cycle_navigation"):
        records += arm("full", list(FULL), task=task) + arm("top_k(5)", [7, 8, 9, 8, 7, 9], task=task)
    for each in records:
        if each["spec"]["task"] == "parity":
            each["curve"]["train_accuracy"] = [min(one, 0.97) for one in each["curve"]["train_accuracy"]]
    return pooled(records)


def test_a_task_that_nobody_learned_at_another_target_is_named() -> None:
    (found,) = parity_stays_at_97()
    out = {each.target: each.left_out for each in found.targets}
    assert out["99 %"] == ("parity",)
    assert out["90 %"] == ()
    (row,) = target_table([found]).rows
    cells = dict(zip(target_table([found]).columns, row.cells, strict=True))
    assert "without parity" in cells["99 %"]
    assert "without" not in cells["90 %"]


def test_nobody_is_faster_while_runs_go_on() -> None:
    (summary,) = analyse([each for own in CASES["still running, six seeds"] for each in own])
    speedup = summary.arms[1].speedup
    assert speedup is not None
    assert speedup.p == 2 / 64
    assert (verdict_of(speedup), why_open(speedup)) == ("undecided", "6 runs have not ended")
