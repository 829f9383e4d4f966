"""Numbers behind verdicts on claims: speedups, last accuracies, what was measured inside models."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from semfocus.analysis.claims.claim import Evidence
from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.findings import Finding, finding_on, finding_over
from semfocus.analysis.statistics.pooling import PooledSpeedup
from semfocus.analysis.statistics.speedup import EQUIVALENT, Speedup
from semfocus.analysis.summaries import by_setting
from semfocus.analysis.verdict import FEWEST_PAIRS
from semfocus.analysis.why.break_conditions import FEWEST_SEEDS
from semfocus.analysis.why.measured_runs import not_tested_text
from semfocus.analysis.wording import setting_of
from semfocus.words import count_of, listed, shortened, with_span

if TYPE_CHECKING:
    from semfocus.analysis.summaries import ArmSummary, TaskSummary
    from semfocus.analysis.why.measured_runs import MeasuredTask


#: fewer tasks than this decide nothing about "tasks"
FEWEST_TASKS = 4
#: a speedup whose 90 % interval lies below this is no gain worth the name
NO_GAIN = EQUIVALENT

HOW_COUNTED = (
    f"Counted are tasks at one setting with at least {FEWEST_PAIRS} pairs of seeds, on which either arm reached the target. They are "
    "pooled, each counting the same: a gain is the verdict faster over all of them (p at most 0.05 by the stratified sign-flip test), a "
    f"ratio above 1 on more than half of the tasks and the verdict slower on none; no gain is a pooled 90 % interval below {NO_GAIN:g}. "
    "While runs of either arm go on, the answer is neither."
)

ONLY_THE_END = "Only runs that ended by themselves count: none that was stopped at a target, none that diverged (the numbers count them)."


def arm_named(summary: "TaskSummary", label: str) -> "ArmSummary | None":
    """The arm of that label, if the comparison has it."""
    return next((arm for arm in summary.arms if arm.label == label), None)


def race(summary: "TaskSummary", label: str, base: str = "full", held_out: bool = False) -> Finding | None:
    """One arm against another; None unless both were run on a common seed."""
    return finding_on(summary, Contrast(label, base), held_out)


def counts(finding: Finding | None) -> bool:
    """Whether a task speaks for a claim: pairs enough, somebody arrived, no run of it goes on."""
    if finding is None or not isinstance(finding.speedup, Speedup) or finding.speedup.num_open:
        return False
    return finding.num_pairs >= FEWEST_PAIRS and finding.speedup.is_informative


@dataclass(frozen=True)
class Races:
    """One contrast on tasks at one setting, and over those with pairs enough together; None where there are none."""

    tasks: Sequence[Finding] = ()
    together: Finding | None = None

    @property
    def num_tasks(self) -> int:
        return 0 if self.together is None else self.together.num_tasks

    @property
    def verdict(self) -> str:
        return "undecided" if self.together is None else self.together.verdict

    @property
    def gain(self) -> bool:
        """Faster over all tasks together, and not against some of them."""
        counted = self._counted
        above = [each for each in counted if (each.ratio or 0.0) > 1]
        return self.verdict == "faster" and majority(above, counted) and not self._slower

    @property
    def loss(self) -> bool:
        return self.verdict == "slower"

    @property
    def no_gain(self) -> bool:
        """Whether a gain of a quarter is excluded."""
        found = None if self.together is None else self.together.speedup
        return (
            isinstance(found, PooledSpeedup) and found.excludes_gain and not found.num_open and not self.gain
        )

    @property
    def alike(self) -> bool:
        found = None if self.together is None else self.together.speedup
        return found is not None and found.is_equivalent and not found.num_open

    @property
    def _counted(self) -> list[Finding]:
        return [each for each in self.tasks if each.num_pairs >= FEWEST_PAIRS]

    @property
    def _slower(self) -> list[str]:
        return [str(each.task) for each in self._counted if each.verdict == "slower"]

    def numbers(self) -> list[Evidence]:
        """Task by task, then all of them together."""
        return [*lines(self.tasks), *self.numbers_together()]

    def numbers_together(self) -> list[Evidence]:
        if self.together is None or self.num_tasks < 2:
            return []
        split = self.verdict == "faster" and not self.gain
        against = (
            f" (slower on {listed(map(shortened, self._slower))})" if self._slower else " (not on most tasks)"
        )
        more = against if split else " (no gain)" if self.no_gain else ""
        return [Evidence(f"{self.together}{more}", self.together.setting, self.together)]


def pooled(races: Sequence[Finding], among: int = 1) -> Races:
    """Findings on different tasks at one setting, together; `among` so many contrasts, of which any may be picked."""
    learned = [each for each in races if isinstance(each.speedup, Speedup) and each.speedup.is_informative]
    enough = [each for each in learned if each.num_pairs >= FEWEST_PAIRS]
    return Races(learned, finding_over(enough, among) if enough else None)


def pooled_race(
    summaries: Sequence["TaskSummary"],
    label: str | Sequence[str],
    base: str | Sequence[str] = "full",
    held_out: bool = False,
) -> Races:
    """One arm against another at the setting with the most tasks that count, then the most pairs, then the
    nearest to the paper's.

    Several labels name one arm written in several ways. The choice looks at numbers of seeds, at settings and
    at whether anybody learned, never at who was faster.
    """
    labels, bases = ([each] if isinstance(each, str) else each for each in (label, base))
    candidates = []
    for group in by_setting(summaries):
        best: dict[str, Finding] = {}
        for summary, one, other in product(group, labels, bases):
            found = race(summary, one, other, held_out)
            known = best.get(summary.comparison.task)
            if found and (known is None or found.num_pairs > known.num_pairs):
                best[summary.comparison.task] = found
        races = pooled(list(best.values()))
        pairs = sum(each.num_pairs for each in races.tasks)
        candidates.append(((races.num_tasks, pairs, -len(group[0].comparison.setting)), races))
    return max(candidates, key=lambda each: each[0], default=((), Races()))[1]


def trained_to_the_end(summaries: Sequence["TaskSummary"]) -> list["TaskSummary"]:
    """Without comparisons whose runs stopped at a target: their last epoch says nothing about the end of training."""
    return [each for each in summaries if each.comparison.setting.get("training.stop_at") is None]


def diverged(summary: "TaskSummary", *labels: str) -> set[int]:
    """Seeds on which a run of these arms diverged, and so has no end."""
    return {
        record["spec"]["seed"]
        for label in labels
        for record in summary.comparison.arms.get(label, [])
        if record.get("state") == "diverged"
    }


def too_few(num: int) -> str:
    """What a line of numbers says where it does not count."""
    return "" if num >= FEWEST_PAIRS else ": too few seeds"


def left_out(seeds: Collection[int]) -> str:
    """What a line of numbers says about runs that diverged."""
    return f" ({len(seeds)} left out: diverged)" if seeds else ""


def trained(arm: "ArmSummary | None") -> bool:
    """Whether at least half of the seeds reached the training target."""
    return arm is not None and arm.total > 0 and 2 * arm.reached >= arm.total


class Result(Protocol):
    """What a line of numbers is made of: its text is `str()` of it."""

    @property
    def setting(self) -> str: ...


def lines(results: Sequence[Result]) -> list[Evidence]:
    """The numbers of a finding, each with the setting of its runs."""
    return [
        Evidence(str(each), each.setting, each if isinstance(each, Finding) else None) for each in results
    ]


def majority(part: Sequence[Any], whole: Sequence[Any]) -> bool:
    """More than half."""
    return 2 * len(part) > len(whole)


#: fewer measured seeds than this decide nothing about a task
FEWEST_MEASURED = FEWEST_SEEDS

HOW_MEASURED = (
    f"Measured inside models (semfocus probe) on held-out data. A task counts if at least {FEWEST_MEASURED} of its seeds were measured, "
    "with its median over seeds."
)


def lines_of(numbers: Sequence[str], summaries: Sequence["TaskSummary"]) -> list[Evidence]:
    """Lines about one task or about all of them, with the setting that all runs have, if it is one."""
    settings = {setting_of(summary.comparison) for summary in summaries}
    setting = settings.pop() if len(settings) == 1 else f"{len(settings)} settings, by task"
    return [Evidence(each, setting) for each in numbers]


def measured_lines(numbers: Sequence[str], summaries: Sequence["TaskSummary"]) -> list[Evidence]:
    """The same, and which comparisons of these tasks a rule did not see; nothing where it saw none."""
    left = not_tested_text(summaries) if numbers else ""
    return lines_of([*numbers, *([left] if left else [])], summaries)


def seeds_enough(by_seed: Mapping[int, float]) -> bool:
    return len(by_seed) >= FEWEST_MEASURED


def line(task: "MeasuredTask", what: str, by_seed: Mapping[int, float], form: str = ".2f") -> str:
    """`parity: ... 0.41 (0.38 to 0.44, 5 seeds)`."""
    values = sorted(by_seed.values())
    few = "" if seeds_enough(by_seed) else ": too few seeds"
    middle, low, high = (format(each, form) for each in (median(values), values[0], values[-1]))
    return f"{shortened(task.task, 40)}: {what} {with_span(middle, low, high, count_of(len(values), 'seed'))}{few}"


def races_of(tasks: Sequence["MeasuredTask"], label: str, base: str = "full") -> dict[str, Finding]:
    """By task, in the very comparison that was measured."""
    found = {task.task: race(task.summary, label, base) for task in tasks}
    return {name: each for name, each in found.items() if each is not None}
