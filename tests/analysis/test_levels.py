"""Several studies in one store: contrasts and looks of each concern its own runs, and levels are kept everywhere."""

from collections.abc import Sequence
from typing import Any

import pytest

from semfocus.analysis.claims import judge_all
from semfocus.analysis.claims.evidence import pooled_race, race
from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.plans import Analysis, analyse_planned, planned_findings
from semfocus.analysis.statistics.sequential import LOOKS, IntervalLevel
from semfocus.analysis.summaries import TaskSummary, analyse
from semfocus.analysis.why.break_conditions import break_conditions
from semfocus.analysis.why.measured_runs import measured_tasks
from semfocus.analysis.why.ratio import ratio_test
from semfocus.analysis.why.sweep import sweeps_over_k
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.report.tables import asked_findings, finding_table
from semfocus.runs.plan import Plan, write_plan
from semfocus.runs.store import Store
from tests.analysis.records import arm
from tests.analysis.why.planted import record as planted
from tests.analysis.why.planted import row

Records = list[dict[str, Any]]
FIRST, LAST = LOOKS
TOP_K = ["top_k(5)", "full"]


def runs(task: str, num: int, **settings: Any) -> Records:
    """Full and top_k on one task, top_k mostly faster."""
    full, top_k = [40, 47, 58, 44, 50, 42, 45, 49, 41, 46], [20, 21, 59, 24, 20, 22, 25, 29, 21, 26]
    return [
        *arm("full", full[:num], task=task, **settings),
        *arm("top_k(5)", top_k[:num], task=task, **settings),
    ]


def plan(name: str, records: Records, contrasts: Sequence[list[str]] = (), looks: Sequence[int] = ()) -> Plan:
    names = [record["run"] for record in records]
    return Plan(name, "?", f"semfocus study {name}", names, [], list(contrasts), list(looks))


def by_task(summaries: Sequence[TaskSummary]) -> dict[str, TaskSummary]:
    return {each.comparison.task: each for each in summaries}


def test_another_study_hides_neither_contrasts_nor_looks() -> None:
    looking, other = runs("parity", 6), runs("even_pairs", 6)
    plans = [plan("quick", looking, [TOP_K], [6, 10]), plan("other", other, [list(reversed(TOP_K))])]
    summaries = by_task(analyse_planned([*looking, *other], plans))
    assert (summaries["parity"].alpha, summaries["even_pairs"].alpha) == (FIRST.alpha, 0.05)
    found = planned_findings(list(summaries.values()), plans)
    primary = {(each.task, each.contrast) for each in found if each.is_primary}
    assert primary == {("parity", tuple(TOP_K)), ("even_pairs", tuple(reversed(TOP_K)))}
    text = report_text([*looking, *other], plans=plans)
    assert "(primary in quick)" in text
    assert "(primary in other)" in text


def test_contrasts_of_a_study_hold_for_its_own_tasks() -> None:
    """Two tasks were planned; the third is someone else's, at the same setting, and none of its business."""
    planned, beside = [*runs("parity", 6), *runs("even_pairs", 6)], runs("cycle_navigation", 6)
    plans = [plan("small", planned, [TOP_K])]
    found = planned_findings(analyse_planned([*planned, *beside], plans), plans)
    (pooled,) = [each for each in found if each.task is None]
    assert (pooled.is_primary, pooled.num_tasks) == (True, 2)
    assert [each.is_declared for each in found if each.task == "cycle_navigation"] == [False]


def test_what_was_declared_for_an_only_task_is_asked_beside_pooled_tasks() -> None:
    several, only = [*runs("parity", 6), *runs("even_pairs", 6)], runs("listops", 6, model={"d_model": 8})
    plans = [plan("small", several, [TOP_K]), plan("quick", only, [TOP_K])]
    asked = asked_findings(planned_findings(analyse_planned([*several, *only], plans), plans))
    assert [(each.task, each.study) for each in asked] == [(None, "small"), ("listops", "quick")]
    names = [each.name for each in finding_table(asked).rows]
    assert names[1].startswith("top_k(5) against full, listops (primary in quick)")


def test_another_primary_contrast_in_a_later_call_hides_not_the_first() -> None:
    """Which of two plans is the newer is not known of exports: files of a clone have no times."""
    one, other = runs("parity", 6), runs("even_pairs", 6)
    plans = [plan("quick", one, [TOP_K]), plan("quick", other, [list(reversed(TOP_K)), TOP_K])]
    for order in (plans, plans[::-1]):
        found = planned_findings(analyse_planned([*one, *other], order), order)
        primary = {(each.task, each.contrast) for each in found if each.is_primary}
        assert primary == {("parity", tuple(TOP_K)), ("even_pairs", tuple(reversed(TOP_K)))}


def test_a_part_of_a_study_with_fewer_contrasts_takes_no_task_from_the_whole() -> None:
    parts = [runs(task, 6) for task in ("parity", "even_pairs", "listops")]
    whole = [each for part in parts for each in part]
    plans = [
        plan("small", [*parts[0], *parts[1]], [TOP_K]),
        plan("small", whole, [TOP_K, list(reversed(TOP_K))]),
    ]
    for order in (plans, plans[::-1]):
        found = planned_findings(analyse_planned(whole, order), order)
        assert [each.num_tasks for each in found if each.is_primary and each.task is None] == [3]


def test_runs_that_were_planned_and_are_not_here_are_counted() -> None:
    whole = runs("parity", 8)
    plans = [plan("small_search", runs("even_pairs", 3)), plan("small", whole, [TOP_K])]
    known = [each for each in whole if each["spec"]["seed"] < 5]
    assert Analysis.of(known, plans).num_missing == 6
    assert Analysis.of(known, plans[:1]).num_missing == 6
    assert Analysis.of(whole, plans).num_missing == 0
    assert "6 more were planned" in report_text(known, plans=plans)


@pytest.mark.parametrize(("num", "alpha"), [(6, FIRST.alpha), (8, LAST.alpha), (10, LAST.alpha)])
def test_between_two_looks_the_level_is_that_of_the_coming_one(num: int, alpha: float) -> None:
    whole = runs("parity", 10)
    plans = [plan("quick", runs("parity", 6), [TOP_K], [6, 10]), plan("quick", whole, [TOP_K], [6, 10])]
    known = runs("parity", num)
    (summary,) = analyse_planned(known, plans)
    assert summary.alpha == alpha
    assert summary.num_missing == 20 - 2 * num
    (found,) = planned_findings([summary], plans)
    assert (found.verdict == "undecided") == (num < 10)


def test_seeds_of_another_study_are_no_look() -> None:
    """Six seeds that agree decide at the first look, however many more of full attention others have trained."""
    own = [*arm("full", [40] * 6), *arm("top_k(5)", [7] * 6)]
    more = [each for each in arm("full", [40] * 12) if each["spec"]["seed"] > 5]
    plans = [plan("quick", own, [TOP_K], [6, 10]), plan("other", more)]
    (summary,) = analyse_planned([*own, *more], plans)
    (found,) = planned_findings([summary], plans)
    assert (summary.alpha, found.verdict) == (FIRST.alpha, "faster")


def test_a_study_that_looked_has_done_so_under_any_other_command(tmp_path) -> None:
    store = Store(tmp_path)
    write_plan(store, plan("quick", runs("parity", 6), [TOP_K], [6, 10]))
    again = write_plan(store, plan("quick", runs("parity", 8), [TOP_K]))
    assert again.looks == [6, 10]
    assert write_plan(store, plan("quick", runs("even_pairs", 8), [TOP_K])).looks == []


def strict(records: Records) -> list[TaskSummary]:
    return analyse(records, level=lambda _: IntervalLevel(FIRST.alpha))


def test_claims_keep_the_level_of_a_look() -> None:
    names = ("even_pairs", "parity", "cycle_navigation", "missing_duplicate")
    records = [each for task in names for each in runs(task, 6)]
    (one, *_) = strict(records)
    found = race(one, *TOP_K)
    assert found is not None
    assert found.speedup.alpha == FIRST.alpha
    together = pooled_race(strict(records), *TOP_K).together
    assert together is not None
    assert together.speedup.alpha == FIRST.alpha


def test_mechanism_tests_keep_the_level_of_a_look() -> None:
    rows = [row("dispersion", 3.0, epoch) for epoch in (0, 100)]
    records = [
        planted("parity", pattern, seed, 10 * k + seed, rows)
        for k, pattern in enumerate(("top_k(1)", "top_k(3)", "top_k(5)", "full"), start=1)
        for seed in range(6)
    ]
    tasks = measured_tasks(strict(records))  # type: ignore[arg-type]
    (point,) = ratio_test(tasks, "top_k(5)", "input-dependent", "end", False).points
    assert point.speedup.alpha == FIRST.alpha
    (sweep,) = sweeps_over_k(tasks)
    assert {step.speedup.alpha for step in sweep.steps} == {FIRST.alpha}


def test_break_conditions_name_the_level_of_their_intervals() -> None:
    rows = [row("dispersion", 3.0, 100)]
    records = [
        planted("parity", pattern, seed, 40, rows) for pattern in ("full", "top_k(5)") for seed in range(6)
    ]
    for summaries, level in ((strict(records), "96.9 %"), (analyse(records), "95 %")):  # type: ignore[arg-type]
        rules = [each.rule for each in break_conditions(measured_tasks(summaries))]
        assert all(f"{level} interval over seeds" in rule for rule in rules)


def test_the_page_names_the_level_of_its_intervals() -> None:
    records = runs("parity", 6)
    page = report_page(records, plans=[plan("quick", records, [TOP_K], [6, 10])]).replace("\xa0", " ")
    assert "Line: 96.9 % interval" in page
    assert "with a 96.9 % interval" in page
    assert "95 % interval" not in page.partition('id="claims"')[0]


def test_a_claim_is_not_decided_while_its_runs_go_on() -> None:
    names = ("even_pairs", "parity", "cycle_navigation", "missing_duplicate")
    records = [
        each
        for task in names
        for each in (*arm("full", [40, 47, 58, 44, 50, 42], task=task), *arm("top_k(5)", [7] * 6, task=task))
    ]
    verdicts = {}
    for state in ("done", "running"):
        records[-1]["state"] = state
        judged = next(each for each in judge_all(analyse(records)) if each.name == "top_k_trains_faster")
        verdicts[state] = judged.verdict
    assert verdicts == {"done": "supported", "running": "undecided"}
    assert any("1 run has not ended" in line for line in judged.numbers)


def test_a_claim_about_the_end_is_not_decided_while_its_runs_go_on() -> None:
    names = ("even_pairs", "parity", "cycle_navigation", "missing_duplicate")
    records = [
        each
        for task in names
        for each in (*arm("full", [20] * 6, task=task), *arm("top_k(5)", [7] * 6, task=task))
    ]
    verdicts = {}
    for state in ("done", "interrupted"):
        records[-1]["state"] = state
        judged = next(each for each in judge_all(analyse(records)) if each.name == "top_k_generalises")
        verdicts[state] = judged.verdict
    assert verdicts == {"done": "supported", "interrupted": "undecided"}
    assert any("(1 not ended)" in line for line in judged.numbers)


def test_the_same_contrast_is_raced_alike_everywhere() -> None:
    (summary,) = strict(runs("parity", 6))
    assert summary.race(Contrast(*TOP_K)) == summary.arms[1].speedup
