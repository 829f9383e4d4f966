"""Claims about accuracy on held-out data at the end of training."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from semfocus.analysis.claims.claim import (
    FIVE_TASKS,
    RACE,
    Claim,
    Ruling,
    decide,
    paper_study,
    small_study,
)
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, PAPER, TOP_K
from semfocus.analysis.claims.evidence import (
    FEWEST_TASKS,
    ONLY_THE_END,
    arm_named,
    diverged,
    left_out,
    lines,
    majority,
    too_few,
    trained,
    trained_to_the_end,
)
from semfocus.analysis.overview import learned
from semfocus.analysis.verdict import FEWEST_PAIRS
from semfocus.analysis.why.break_conditions import MARGIN
from semfocus.analysis.wording import setting_of
from semfocus.runs.arms import paper_setting
from semfocus.words import count_of, shortened

if TYPE_CHECKING:
    from semfocus.analysis.summaries import ArmSummary, TaskSummary

#: how far from guessing an accuracy may be and still be called guessing
NEAR_CHANCE = 0.05


@dataclass(frozen=True)
class Mean:
    """A mean over seeds with its interval, and what it is the mean of; a single seed has no interval."""

    setting: str
    what: str
    value: float
    low: float
    high: float
    num: int
    note: str = ""
    #: runs that have not ended
    num_open: int = 0

    @property
    def counts(self) -> bool:
        return self.num >= FEWEST_PAIRS and not self.num_open

    def __str__(self) -> str:
        going_on = f" ({self.num_open} not ended)" if self.num_open else ""
        limits = f" [{_points(self.low)}, {_points(self.high)}]" if self.num > 1 else ""
        return f"{self.what}: {_points(self.value)}{limits} points, {count_of(self.num, 'seed')}{self.note}{going_on}{too_few(self.num)}"


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}"  # + 0.0: never -0.0


def mean_of(
    summary: "TaskSummary", what: str, values: Sequence[float], step: float, *labels: str
) -> Mean | None:
    """A mean over the seeds of these arms with a t interval, each value known to within `step` either way;
    None without any.

    An accuracy is a whole number of samples: seeds that agree to the last of them do not make a mean certain.
    """
    from semfocus.analysis.statistics.order import t_factor

    if not values:
        return None
    middle, num = fmean(values), len(values)
    error = t_factor(num - 1, summary.alpha) * stdev(values) / math.sqrt(num) + step if num > 1 else math.inf
    num_open = summary.num_missing + sum(arm.num_open for arm in summary.arms if arm.label in labels)
    note = left_out(diverged(summary, *labels))
    setting = setting_of(summary.comparison)
    return Mean(setting, what, middle, middle - error, middle + error, num, note, num_open)


def _one_sample(summary: "TaskSummary") -> float:
    """The share of one held-out sample."""
    first = next(record for records in summary.comparison.arms.values() for record in records)
    num = first.get("num_held_out") or first["spec"].get("training", {}).get("num_held_out")
    return 1 / num if num else 0.0


def held_out_difference(summary: "TaskSummary", label: str, base: str = "full") -> Mean | None:
    """Last held-out accuracy of an arm minus that of another, paired by seed."""
    first, second = arm_named(summary, base), arm_named(summary, label)
    if first is None or second is None:
        return None
    ours, theirs = _last(second), _last(first)
    what = f"{shortened(summary.comparison.title, 40)}: last held-out accuracy of {shortened(label)} minus {shortened(base)}"
    return mean_of(
        summary,
        what,
        [ours[seed] - theirs[seed] for seed in sorted(ours.keys() & theirs.keys())],
        _one_sample(summary),  # half a sample on each side of the difference
        *(label, base),
    )


def _last(arm: "ArmSummary") -> dict[int, float]:
    return dict(zip(arm.ended_seeds, arm.last_held_out, strict=True))


def differences(summaries: Sequence["TaskSummary"], label: str) -> list[Mean]:
    """For every task that some arm learned, the difference at the end of training at the setting of `_weight`."""
    best: dict[str, tuple[tuple[Any, ...], Mean]] = {}
    for summary in learned(trained_to_the_end(summaries)):
        found = held_out_difference(summary, label)
        if found is not None:
            weight, task = _weight(summary, found), summary.comparison.task
            if task not in best or weight > best[task][0]:
                best[task] = (weight, found)
    return [found for _, found in best.values()]


#: which of several settings speaks for a task
TIES = "Of a task's settings that with the most seeds counts; of equals the nearest to the paper's, then the one with the most training samples."


def _weight(summary: "TaskSummary", found: Mean) -> tuple[Any, ...]:
    """Nothing of it looks at accuracies; the last part only makes sure that no order of records matters."""
    setting = summary.comparison.setting
    shared = {**paper_setting(summary.comparison.task), **setting}
    length = shared.get("training.length")
    longest = max(length) if isinstance(length, list | tuple) else length or 0
    samples = shared.get("training.num_train") or 0
    return found.num, -len(setting), samples, longest, json.dumps(setting, sort_keys=True)


def _as_well(summaries: Sequence["TaskSummary"]) -> Ruling:
    found = differences(summaries, HEAVY_HITTERS)
    counted = [each for each in found if each.counts]
    enough = len(counted) >= FEWEST_TASKS
    as_well = [each for each in counted if each.low > -MARGIN]
    worse = [each for each in counted if each.high < -MARGIN]
    return decide(
        enough and majority(as_well, counted) and not worse, enough and majority(worse, counted), lines(found)
    )


def _parity(summaries: Sequence["TaskSummary"]) -> Ruling:
    """Among comparisons where both learned the training data; otherwise chance says nothing about generalisation."""
    found, counted = [], []
    for summary in trained_to_the_end(summaries):
        arms = [arm_named(summary, "full"), arm_named(summary, HEAVY_HITTERS)]
        if summary.comparison.task != "parity":
            continue
        learned = all(trained(arm) for arm in arms)
        for arm in arms:
            mean = _end_of(summary, arm, learned) if arm is not None else None
            if mean is not None:
                found.append(mean)
                counted += [mean] if learned and mean.counts else []
    near = [each for each in counted if each.low > 0.5 - NEAR_CHANCE and each.high < 0.5 + NEAR_CHANCE]
    return decide(
        len(counted) >= 2 and len(near) == len(counted),
        any(each.low > 0.5 + NEAR_CHANCE for each in counted),
        lines(found),
    )


def _end_of(summary: "TaskSummary", arm: "ArmSummary", counts: bool) -> Mean | None:
    what = f"parity: last held-out accuracy of {arm.label}"
    mean = mean_of(summary, what, arm.last_held_out, _one_sample(summary) / 2, arm.label)
    if mean is None or counts:
        return mean
    reached = f"{arm.reached} of {count_of(arm.total, 'run')} reached the training target"
    return replace(mean, note=f"{mean.note} (not counted: {reached})")


CLAIMS = (
    Claim(
        "top_k_generalises",
        "In the end top_k generalises as well as full attention, or better.",
        TOP_K,
        PAPER,
        paper_study(RACE, stops=False),
        f"On at least {FEWEST_TASKS} tasks with at least {FEWEST_PAIRS} pairs each, the paired difference in last held-out accuracy "
        f"has its 95 % interval above -{100 * MARGIN:g} points on more than half, and below it on none. {TIES} {ONLY_THE_END}",
        f"On at least {FEWEST_TASKS} such tasks the interval lies below -{100 * MARGIN:g} points on more than half.",
        _as_well,
        small_study(RACE, f"{FIVE_TASKS}, modular_arithmetic, solve_equation"),
    ),
    Claim(
        "parity_generalises_for_neither",
        "On parity neither full attention nor top_k generalises, although both learn the training data.",
        TOP_K,
        "Ram et al. 2025, failure signatures",
        paper_study(RACE, "parity", stops=False),
        f"Both reach the training target on at least half of at least {FEWEST_PAIRS} seeds, and the 95 % interval of the mean last held-out "
        f"accuracy lies within {100 * NEAR_CHANCE:g} points of 50 for both. {ONLY_THE_END}",
        f"With the same seeds, the interval of one of them lies above {100 * (0.5 + NEAR_CHANCE):g} %.",
        _parity,
        small_study(RACE, "parity", "training.num_train=100", "training.epochs=1000"),
    ),
)
