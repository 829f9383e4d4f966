"""Numbers behind verdicts on claims: speedups, last accuracies, what was measured inside models."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from semfocus.analysis.claims.claim import NumberLine
from semfocus.analysis.tables import speedup_text
from semfocus.analysis.verdict import FEWEST_PAIRS, enough, is_ahead, is_behind
from semfocus.analysis.why.break_conditions import FEWEST_SEEDS
from semfocus.analysis.why.measured_runs import not_tested_text
from semfocus.analysis.wording import setting_of
from semfocus.words import count_of, shortened, with_span

if TYPE_CHECKING:
    from semfocus.analysis.contrasts import ArmSummary, TaskSummary
    from semfocus.analysis.statistics.speedup import Speedup, Time
    from semfocus.analysis.why.measured_runs import LookedTask


#: fewer tasks than this decide nothing about "tasks"
FEWEST_TASKS = 4
#: a speedup whose whole interval lies below this is no gain worth the name
NO_GAIN = 1.1

HOW_COUNTED = (
    f"Counted are tasks with at least {FEWEST_PAIRS} pairs of seeds; a gain is a speedup whose 95 % interval lies above 1, "
    f"no gain one whose interval lies below {NO_GAIN}, a loss one whose interval lies below 1."
)

ONLY_THE_END = "Only runs that ended by themselves count: none that was stopped at a target, none that diverged (the numbers say how many)."


@dataclass(frozen=True)
class RaceResult:
    """One arm against another on one task at one setting."""

    summary: "TaskSummary"
    arm: str
    base: str
    speedup: "Speedup"
    what: str = ""

    @property
    def gain(self) -> bool:
        return is_ahead(self.speedup)

    @property
    def no_gain(self) -> bool:
        return not self.gain and self.speedup.high is not None and self.speedup.high < NO_GAIN

    @property
    def loss(self) -> bool:
        return is_behind(self.speedup)

    @property
    def enough(self) -> bool:
        return enough(self.speedup)

    def __str__(self) -> str:
        verdict = "gain" if self.gain else "loss" if self.loss else "no gain" if self.no_gain else "unclear"
        verdict = verdict if self.enough else "too few pairs"
        what = f" {self.what}" if self.what else ""
        return (
            f"{shortened(self.summary.comparison.title, 40)}: {shortened(self.arm)}{what} over {shortened(self.base)} "
            f"{speedup_text(self.speedup)}, {count_of(self.speedup.num_pairs, 'pair')}: {verdict}"
        )


def arm_named(summary: "TaskSummary", label: str) -> "ArmSummary | None":
    """The arm of that label, if the comparison has it."""
    return next((arm for arm in summary.arms if arm.label == label), None)


def race(summary: "TaskSummary", label: str, base: str = "full", held_out: bool = False) -> RaceResult | None:
    """One arm against another; None unless both were run on a common seed."""
    first, second = arm_named(summary, base), arm_named(summary, label)
    if first is None or second is None:
        return None
    result = race_of_times(
        summary,
        label,
        base,
        first.held_out_times if held_out else first.times,
        second.held_out_times if held_out else second.times,
        "to held-out accuracy" if held_out else "",
    )
    return result if result.speedup.num_pairs else None


def race_of_times(
    summary: "TaskSummary",
    label: str,
    base: str,
    base_times: Mapping[int, "Time"],
    arm_times: Mapping[int, "Time"],
    what: str = "",
) -> RaceResult:
    """A race between any two sets of times by seed."""
    from semfocus.analysis.statistics.speedup import paired_speedup

    return RaceResult(summary, label, base, paired_speedup(base_times, arm_times), what)


def one_a_task(
    summaries: Sequence["TaskSummary"], label: str, base: str = "full", held_out: bool = False
) -> list[RaceResult]:
    """For every task the race with the most pairs; of equal ones that with all else equal, then the nearest to the paper's setting.

    The choice looks at numbers of seeds and at settings, never at results.
    """
    best: dict[str, RaceResult] = {}
    for summary in summaries:
        found = race(summary, label, base, held_out)
        if found is None:
            continue
        task = summary.comparison.task
        if task not in best or _weight(found) > _weight(best[task]):
            best[task] = found
    return list(best.values())


def _weight(found: RaceResult) -> tuple[int, bool, int]:
    comparison = found.summary.comparison
    return found.speedup.num_pairs, not comparison.arm_settings, -len(comparison.setting)


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
    def summary(self) -> "TaskSummary": ...


def lines(results: Sequence[Result]) -> list[NumberLine]:
    """The numbers of a finding, each with the setting of its runs."""
    return [NumberLine(str(result), setting_of(result.summary.comparison)) for result in results]


def majority(part: Sequence[Any], whole: Sequence[Any]) -> bool:
    """More than half."""
    return 2 * len(part) > len(whole)


#: fewer seeds that were looked into than this decide nothing about a task
FEWEST_LOOKED = FEWEST_SEEDS

HOW_MEASURED = (
    f"Measured inside models (semfocus probe) on held-out data; counted are tasks with at least {FEWEST_LOOKED} seeds that were looked into; "
    "of a task the median over seeds is taken."
)


def told(numbers: Sequence[str], summaries: Sequence["TaskSummary"]) -> list[NumberLine]:
    """Lines about one task or about all of them, with the setting that all runs have, if it is one."""
    settings = {setting_of(summary.comparison) for summary in summaries}
    setting = settings.pop() if len(settings) == 1 else f"{len(settings)} settings, by task"
    return [NumberLine(each, setting) for each in numbers]


def told_of_looked(numbers: Sequence[str], summaries: Sequence["TaskSummary"]) -> list[NumberLine]:
    """The same, and which comparisons of these tasks a rule did not see; nothing where it saw none."""
    left = not_tested_text(summaries) if numbers else ""
    return told([*numbers, *([left] if left else [])], summaries)


def seeds_enough(by_seed: Mapping[int, float]) -> bool:
    return len(by_seed) >= FEWEST_LOOKED


def line(task: "LookedTask", what: str, by_seed: Mapping[int, float], form: str = ".2f") -> str:
    """`parity: ... 0.41 (0.38 to 0.44, 5 seeds)`."""
    values = sorted(by_seed.values())
    few = "" if seeds_enough(by_seed) else ": too few seeds"
    middle, low, high = (format(each, form) for each in (median(values), values[0], values[-1]))
    return f"{shortened(task.task, 40)}: {what} {with_span(middle, low, high, count_of(len(values), 'seed'))}{few}"


def races_of(tasks: Sequence["LookedTask"], label: str, base: str = "full") -> dict[str, RaceResult]:
    """By task, in the very comparison that was looked into."""
    found = {task.task: race(task.summary, label, base) for task in tasks}
    return {name: each for name, each in found.items() if each is not None}
