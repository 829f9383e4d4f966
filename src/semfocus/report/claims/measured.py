"""What rules about explanations look at: tasks whose runs were looked into, with enough seeds."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING

from semfocus.counts import count_of, with_span
from semfocus.report.claims.claim import Line
from semfocus.report.claims.evidence import RaceResult, race
from semfocus.report.not_tested import not_tested_text
from semfocus.report.texts import shortened
from semfocus.report.wording import setting_of
from semfocus.studies.mechanism_tests.break_conditions import FEWEST_SEEDS

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary
    from semfocus.studies.mechanism_tests.looked import LookedTask

#: fewer seeds that were looked into than this decide nothing about a task
FEWEST_LOOKED = FEWEST_SEEDS

HOW_MEASURED = (
    f"Measured inside models (semfocus probe) on held-out data; counted are tasks with at least {FEWEST_LOOKED} seeds that were looked into; "
    "of a task the median over seeds is taken."
)


def told(numbers: Sequence[str], summaries: Sequence["TaskSummary"]) -> list[Line]:
    """Lines about one task or about all of them, with the setting that all runs have, if it is one."""
    settings = {setting_of(summary.comparison) for summary in summaries}
    setting = settings.pop() if len(settings) == 1 else f"{len(settings)} settings, by task"
    return [Line(each, setting) for each in numbers]


def told_of_looked(numbers: Sequence[str], summaries: Sequence["TaskSummary"]) -> list[Line]:
    """The same, and which comparisons of these tasks a rule did not see; nothing where it saw none."""
    left = not_tested_text(summaries) if numbers else ""
    return told([*numbers, *([left] if left else [])], summaries)


def enough(by_seed: Mapping[int, float]) -> bool:
    return len(by_seed) >= FEWEST_LOOKED


def line(task: "LookedTask", what: str, by_seed: Mapping[int, float], form: str = ".2f") -> str:
    """`parity: ... 0.41 (0.38 to 0.44, 5 seeds)`."""
    values = sorted(by_seed.values())
    few = "" if enough(by_seed) else ": too few seeds"
    middle, low, high = (format(each, form) for each in (median(values), values[0], values[-1]))
    return f"{shortened(task.task, 40)}: {what} {with_span(middle, low, high, count_of(len(values), 'seed'))}{few}"


def races_of(tasks: Sequence["LookedTask"], label: str, base: str = "full") -> dict[str, RaceResult]:
    """By task, in the very comparison that was looked into."""
    found = {task.task: race(task.summary, label, base) for task in tasks}
    return {name: each for name, each in found.items() if each is not None}
