"""Numbers behind verdicts on claims: speedups, last accuracies, what was measured inside models."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import median
from typing import TYPE_CHECKING, Any, Protocol

from semfocus.analysis.claims.claim import NumberLine
from semfocus.analysis.statistics.pooling import PooledSpeedup, pooled_speedup
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.analysis.statistics.speedup import EQUIVALENT
from semfocus.analysis.summaries import by_setting
from semfocus.analysis.tables import speedup_text
from semfocus.analysis.verdict import FEWEST_PAIRS, enough, is_ahead, is_behind
from semfocus.analysis.why.break_conditions import FEWEST_SEEDS
from semfocus.analysis.why.measured_runs import not_tested_text
from semfocus.analysis.wording import bounded, interval, setting_of
from semfocus.words import count_of, p_value, shortened, with_span

if TYPE_CHECKING:
    from semfocus.analysis.statistics.speedup import Speedup, Time
    from semfocus.analysis.summaries import ArmSummary, TaskSummary
    from semfocus.analysis.why.measured_runs import LookedTask


#: fewer tasks than this decide nothing about "tasks"
FEWEST_TASKS = 4
#: a speedup whose 90 % interval lies below this is no gain worth the name
NO_GAIN = EQUIVALENT

HOW_COUNTED = (
    f"Counted are tasks at one setting with at least {FEWEST_PAIRS} pairs of seeds, on which either arm reached the target. They are "
    "pooled, each counting the same: a gain is a ratio above 1 with p at most 0.05 by the stratified sign-flip test, above 1 on more "
    f"than half of the tasks and with an interval below 1 on none; no gain is a pooled 90 % interval below {NO_GAIN:g}."
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
    def loss(self) -> bool:
        return is_behind(self.speedup)

    @property
    def enough(self) -> bool:
        return enough(self.speedup)

    @property
    def learned(self) -> bool:
        """Whether a run of either arm got there: elsewhere there is nothing to be faster at."""
        return any(pair.ratio_low > 0 or pair.ratio_high < math.inf for pair in self.speedup.pairs)

    def __str__(self) -> str:
        verdict = "gain" if self.gain else "loss" if self.loss else "unclear"
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


@dataclass(frozen=True)
class PooledRaces:
    """Races of one arm against another, a task each, at one setting."""

    races: Sequence[RaceResult]
    #: over the races with pairs enough; None where there are none
    speedup: "PooledSpeedup | None"
    alpha: float = ALPHA

    @property
    def num_tasks(self) -> int:
        return 0 if self.speedup is None else len(self.speedup.tasks)

    @property
    def gain(self) -> bool:
        counted = [each for each in self.races if each.enough]
        above = [each for each in counted if (each.speedup.ratio or 0.0) > 1]
        return self._is_rejected(1) and majority(above, counted) and not any(each.loss for each in counted)

    @property
    def loss(self) -> bool:
        return self._is_rejected(-1)

    @property
    def no_gain(self) -> bool:
        """Whether a gain of a quarter is excluded."""
        high = None if self.speedup is None else self.speedup.inner_high
        return high is not None and high < NO_GAIN and not self.gain

    @property
    def alike(self) -> bool:
        return self.speedup is not None and self.speedup.is_equivalent

    def _is_rejected(self, side: int) -> bool:
        found = self.speedup
        return found is not None and found.p <= self.alpha and side * math.log(found.ratio) > 0

    def numbers(self) -> list[NumberLine]:
        """Task by task, then all of them together."""
        return [*lines(self.races), *self._together()]

    def _together(self) -> list[NumberLine]:
        found = self.speedup
        if found is None or len(found.tasks) < 2:
            return []
        first = self.races[0]
        what = f" {first.what}" if first.what else ""
        verdict = "gain" if self.gain else "loss" if self.loss else "no gain" if self.no_gain else "unclear"
        text = (
            f"over {count_of(len(found.tasks), 'task')}: {shortened(first.arm)}{what} over {shortened(first.base)} {bounded(found)} "
            f"{interval(found)}, {count_of(found.num_pairs, 'pair')}, p = {p_value(found.p)}: {verdict}"
        )
        return [NumberLine(text, setting_of(first.summary.comparison))]


def pooled(races: Sequence[RaceResult], alpha: float = ALPHA) -> PooledRaces:
    """Races of different tasks at one setting, together."""
    titles = [each.summary.comparison.title for each in races]
    assert len(set(titles)) == len(titles), f"a task counts once, got {titles}"
    counted = {each.summary.comparison.title: each.speedup for each in races if each.enough and each.learned}
    return PooledRaces(
        [each for each in races if each.learned], pooled_speedup(counted, alpha) if counted else None, alpha
    )


def pooled_race(
    summaries: Sequence["TaskSummary"],
    label: str | Sequence[str],
    base: str | Sequence[str] = "full",
    held_out: bool = False,
) -> PooledRaces:
    """One arm against another at the setting with the most tasks that count, then the most pairs, then the nearest to the paper's.

    Several labels name one arm written in several ways. The choice looks at numbers of seeds, at settings and at whether
    anybody learned, never at who was faster.
    """
    labels, bases = ([each] if isinstance(each, str) else each for each in (label, base))
    candidates = []
    for group in by_setting(summaries):
        best: dict[str, RaceResult] = {}
        for summary, one, other in product(group, labels, bases):
            found = race(summary, one, other, held_out)
            known = best.get(summary.comparison.task)
            if found and (known is None or found.speedup.num_pairs > known.speedup.num_pairs):
                best[summary.comparison.task] = found
        candidates.append(pooled(list(best.values())))
    return max(candidates, key=_pooled_weight, default=PooledRaces([], None))


def _pooled_weight(found: PooledRaces) -> tuple[int, int, int]:
    pairs = sum(each.speedup.num_pairs for each in found.races)
    setting = len(found.races[0].summary.comparison.setting) if found.races else 0
    return found.num_tasks, pairs, -setting


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
