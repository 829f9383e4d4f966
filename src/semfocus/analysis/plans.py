"""Runs as their studies meant them: what is compared with what, by which contrasts, and at which level."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from semfocus.analysis.comparisons import Comparison
from semfocus.analysis.findings import Finding, findings_of
from semfocus.analysis.statistics.sequential import LOOKS, IntervalLevel, spent_at
from semfocus.analysis.summaries import TaskSummary, analyse
from semfocus.runs.arms import arm_of, flat, tasks_of
from semfocus.runs.plan import Plan, declared_contrasts
from semfocus.runs.record import Record

if TYPE_CHECKING:
    from semfocus.analysis.claims import Claim
    from semfocus.analysis.why.measured_runs import MeasuredTask
    from semfocus.analysis.why.mediators import Mediation

#: ends the name of the plan of a first stage
_SEARCH = "_search"


@dataclass(frozen=True)
class Analysis:
    """What records show, each part computed once, when it is first asked for: pages, texts, claims and
    studies print this.

    Runs are compared as their plans say; `apart_from` (that of `semfocus.analysis.summaries.analyse`) overrules them.
    """

    records: Sequence[Record]
    plans: Sequence[Plan] = ()
    apart_from: Collection[str] = ()

    @classmethod
    def of(
        cls,
        records: Iterable[Mapping[str, Any]],
        plans: Sequence[Plan] = (),
        apart_from: Collection[str] = (),
    ) -> "Analysis":
        """From any records."""
        return cls([Record.of(each) for each in records], plans, apart_from)

    @cached_property
    def summaries(self) -> list[TaskSummary]:
        """For each comparison, each arm against the baseline."""
        return analyse_planned(self.records, self.plans, self.apart_from)

    @cached_property
    def findings(self) -> list[Finding]:
        """The declared contrasts over all tasks first, then on each task every arm against the baseline."""
        return planned_findings(self.summaries, self.plans)

    @cached_property
    def judged(self) -> "list[Claim]":
        """Every claim with its verdict."""
        from semfocus.analysis.claims import judge_all

        return judge_all(self.summaries)

    @cached_property
    def measured_tasks(self) -> "dict[str, list[MeasuredTask]]":
        """The tasks with runs that were measured inside, at the paper's size and scaled down."""
        from semfocus.analysis.claims.claim import by_size
        from semfocus.analysis.why.measured_runs import measured_tasks

        return {size: measured_tasks(own) for size, own in by_size(self.summaries)}

    @cached_property
    def mediations(self) -> "dict[str, list[Mediation]]":
        """For each of these sizes, what had moved before learning did."""
        from semfocus.analysis.why.mediators import mediations

        contrasts = declared_contrasts(self.plans)
        return {size: mediations(tasks, contrasts) for size, tasks in self.measured_tasks.items()}

    @cached_property
    def num_missing(self) -> int:
        """Runs that the plans name and of which there is no record; a search that led to a second stage is over."""
        names = {plan.name for plan in self.plans}
        going = [plan for plan in self.plans if plan.name.removesuffix(_SEARCH) not in names - {plan.name}]
        return len({run for plan in going for run in plan.runs} - {record.run for record in self.records})

    def measured_anew(self) -> "Analysis":
        """The same comparisons of runs in which more was measured since."""
        other = Analysis(self.records, self.plans, self.apart_from)
        known = {key: value for key, value in vars(self).items() if key in ("summaries", "findings")}
        vars(other).update(known)
        return other


def levels(
    plans: Sequence[Plan], records: Sequence[Mapping[str, Any]]
) -> Callable[[Comparison], IntervalLevel]:
    """The level of a comparison: that of the look to which its seeds belong, if a study with looks has runs in it.

    Such a study is judged at its looks alone: until all runs of one have a record, the comparison waits for them.
    """
    known = {record.get("run") for record in records}
    looking = [(plan, {*plan.runs}) for plan in plans if plan.looks]

    def level(comparison: Comparison) -> IntervalLevel:
        found = []
        for plan, runs in looking:
            looks = [look for look in LOOKS if look.seeds in plan.looks] or LOOKS
            arms = comparison.arms.values()
            num_seeds = max(sum(record.get("run") in runs for record in records) for records in arms)
            if num_seeds:
                found.append(IntervalLevel(spent_at(looks, num_seeds), len(runs - known)))
        if not found:
            return IntervalLevel()
        return IntervalLevel(min(each.alpha for each in found), max(each.num_missing for each in found))

    return level


def _runs_in(comparison: Comparison) -> set[str]:
    return {str(record.get("run")) for records in comparison.arms.values() for record in records}


def analyse_planned(
    records: Iterable[Mapping[str, Any]], plans: Sequence[Plan], apart_from: Collection[str] = ()
) -> list[TaskSummary]:
    """A summary for each comparison of the runs of all plans.

    Runs of a plan with `own_settings` are compared among themselves; one that no other plan asked for stays
    out of the rest, where it would stand alone in a comparison of its own. `apart_from` (that of `analyse`)
    overrules all plans.
    """
    known = [Record.of(each) for each in records]
    level = levels(plans, known)
    if apart_from:
        return analyse(known, apart_from=apart_from, level=level)
    apart = [plan for plan in plans if plan.own_settings and _one_an_arm(_runs_of(plan, known), plan)]
    elsewhere = {run for plan in plans if plan not in apart for run in plan.runs}
    taken = {run for plan in apart for run in plan.runs} - elsewhere
    tasks = tasks_of(known)
    summaries = analyse([record for record in known if record["run"] not in taken], tasks=tasks, level=level)
    for plan in _largest(apart):
        summaries += analyse(_runs_of(plan, known), apart_from=plan.own_settings, tasks=tasks, level=level)
    return summaries


def planned_findings(summaries: Sequence[TaskSummary], plans: Sequence[Plan]) -> list[Finding]:
    """What each study shows by the contrasts that it declares, in the comparisons that have runs of it.

    Where nobody declared any, every arm is held against the baseline. A task that two studies look at is told once.
    """
    declared = _declarations(plans)
    within = {id(each): _runs_in(each.comparison) for each in summaries}
    found: list[Finding] = []
    for own in declared:
        concerned = [each for each in summaries if own.runs & within[id(each)]]
        label = own.study if len(declared) > 1 else ""
        found += [replace(each, study=label) for each in findings_of(concerned, own.contrasts)]
    declaring = set().union(*(own.runs for own in declared))
    found += findings_of([each for each in summaries if not declaring & within[id(each)]])
    once: dict[tuple[object, ...], Finding] = {}
    for each in sorted(found, key=lambda each: not each.is_declared):
        once.setdefault(
            (each.contrast, each.task, each.setting, each.study if each.task is None else ""), each
        )
    return [each for each in found if any(each is kept for kept in once.values())]


@dataclass
class _Declaration:
    """What one study is about, and its runs."""

    study: str
    contrasts: list[list[str]]
    runs: set[str]


def _declarations(plans: Sequence[Plan]) -> list[_Declaration]:
    """One for each study and primary contrast: a study that was rerun with another one has declared both."""
    found: dict[tuple[str, str, str], _Declaration] = {}
    for plan in plans:
        if plan.contrasts:
            name = plan.name.removesuffix(_SEARCH)
            own = found.setdefault((name, *plan.contrasts[0]), _Declaration(name, [], set()))  # type: ignore[arg-type]
            own.contrasts += [each for each in plan.contrasts if each not in own.contrasts]
            own.runs.update(plan.runs)
    for plan in plans:  # the same study, planned before it declared any
        for own in found.values() if not plan.contrasts else ():
            own.runs.update(plan.runs if own.study == plan.name.removesuffix(_SEARCH) else ())
    return list(found.values())


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
