"""Runs analysed as they were planned: studies that give each arm settings of its own are held apart from all others."""

from collections.abc import Collection, Sequence

from semfocus.runs.plan import Plan
from semfocus.runs.task_title import tasks_of
from semfocus.studies.analysis import analyse
from semfocus.studies.arms import Record, arm_of
from semfocus.studies.setting import flat
from semfocus.studies.summaries import TaskSummary


def analyse_planned(
    records: Sequence[Record], plans: Sequence[Plan], apart_from: Collection[str] = ()
) -> list[TaskSummary]:
    """A summary for each comparison of the runs of all plans.

    Runs of a plan with `own_settings` are compared among themselves; one that no other plan asked for stays out of the rest,
    where it would stand alone in a comparison of its own. `apart_from` (that of `analyse`) overrules all plans.
    """
    if apart_from:
        return analyse(records, apart_from=apart_from)
    apart = [plan for plan in plans if plan.own_settings and _one_an_arm(_runs_of(plan, records), plan)]
    elsewhere = {run for plan in plans if plan not in apart for run in plan.runs}
    taken = {run for plan in apart for run in plan.runs} - elsewhere
    tasks = tasks_of(records)
    summaries = analyse([record for record in records if record["run"] not in taken], tasks=tasks)
    for plan in _largest(apart):
        summaries += analyse(_runs_of(plan, records), apart_from=plan.own_settings, tasks=tasks)
    return summaries


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
