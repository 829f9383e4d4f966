"""Runs as their studies meant them: what is compared with what, by which contrasts, and at which level."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from semfocus.analysis.findings import Finding, findings_of
from semfocus.analysis.statistics.sequential import LOOKS, spent_at
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.analysis.summaries import TaskSummary, analyse
from semfocus.runs.arms import arm_of, flat, tasks_of
from semfocus.runs.plan import Plan, declared
from semfocus.runs.record import Record


def alpha_of(plans: Sequence[Plan], records: Sequence[Mapping[str, Any]]) -> float:
    """The error of the intervals: 0.05, or what belongs to the look at which a study ended once it was decided."""
    plan = declared(plans)
    if plan is None or not plan.looks:
        return ALPHA
    runs = set(plan.runs)
    seeds = {record["spec"]["seed"] for record in records if record["run"] in runs and record.get("spec")}
    return spent_at([look for look in LOOKS if look.seeds in plan.looks] or LOOKS, len(seeds))


def analyse_planned(
    records: Iterable[Mapping[str, Any]], plans: Sequence[Plan], apart_from: Collection[str] = ()
) -> list[TaskSummary]:
    """A summary for each comparison of the runs of all plans.

    Runs of a plan with `own_settings` are compared among themselves; one that no other plan asked for stays out of the rest,
    where it would stand alone in a comparison of its own. `apart_from` (that of `analyse`) overrules all plans.
    """
    known = [Record.of(each) for each in records]
    alpha = alpha_of(plans, known)
    if apart_from:
        return analyse(known, apart_from=apart_from, alpha=alpha)
    apart = [plan for plan in plans if plan.own_settings and _one_an_arm(_runs_of(plan, known), plan)]
    elsewhere = {run for plan in plans if plan not in apart for run in plan.runs}
    taken = {run for plan in apart for run in plan.runs} - elsewhere
    tasks = tasks_of(known)
    summaries = analyse([record for record in known if record["run"] not in taken], tasks=tasks, alpha=alpha)
    for plan in _largest(apart):
        summaries += analyse(_runs_of(plan, known), apart_from=plan.own_settings, tasks=tasks, alpha=alpha)
    return summaries


def planned_findings(
    summaries: Sequence[TaskSummary], plans: Sequence[Plan], records: Sequence[Mapping[str, Any]]
) -> list[Finding]:
    """With the contrasts that the plans declare, if all are of one study, and the error that belongs to its looks."""
    plan = declared(plans)
    return findings_of(summaries, plan.contrasts if plan else (), alpha_of(plans, records))


def _largest(plans: Sequence[Plan]) -> list[Plan]:
    """Without those whose runs another contains: the same study, first with fewer seeds."""
    chosen: list[Plan] = []
    for plan in sorted(plans, key=lambda each: -len(set(each.runs))):
        if not any(set(plan.runs) <= set(other.runs) for other in chosen):
            chosen.append(plan)
    return chosen


def _runs_of(plan: Plan, records: Sequence[Record]) -> list[Record]:
    wanted = set(plan.runs)
    return [record for record in records if record["run"] in wanted]


def _one_an_arm(records: Sequence[Record], plan: Plan) -> bool:
    """Whether the runs of each arm of a task agree in what may differ between arms; those of a search do not."""
    seen: dict[tuple[str, str], list[object]] = {}
    for record in records:
        spec = flat(record.get("spec") or {})
        if "task" in spec:
            own: list[object] = [spec.get(key) for key in plan.own_settings]
            if seen.setdefault((str(spec["task"]), arm_of(record["spec"]).label), own) != own:
                return False
    return True
