"""The three conditions under which, by the paper, its mechanisms break: met, not met or undecided, task by task."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import Literal

from semfocus.analysis.statistics.order import t_factor
from semfocus.analysis.statistics.significance import sign_flip_interval
from semfocus.analysis.statistics.speedup import FEWEST_FLIPPED
from semfocus.analysis.why.dispersion_table import kept_of
from semfocus.analysis.why.focus_layers import HOW_CARRIED, carried, layers_text
from semfocus.analysis.why.measured_runs import MeasuredTask
from semfocus.analysis.why.ratio import QUANTILE, dispersion_ratios
from semfocus.analysis.wording import level_text
from semfocus.theory import gaussian_null_at
from semfocus.words import count_of

ConditionVerdict = Literal["met", "not met", "undecided"]
#: with fewer seeds nothing is decided about a task
FEWEST_SEEDS = 3
#: dispersion of top-k over that of full: at most this is clearly below, at least that is not
CLEARLY_BELOW, NOT_BELOW = 0.5, 0.8
#: accuracy that may be lost without calling it a cost
MARGIN = 0.02
#: share of kept keys that stay kept under noise of 1 % of the embeddings
STAYS = 0.9
#: for logarithms: one kept key has no dispersion
_LEAST = 1e-9


@dataclass(frozen=True)
class TaskVerdict:
    """One task: the verdict, and the numbers of each seed in words."""

    task: str
    verdict: ConditionVerdict
    numbers: str
    num_seeds: int


@dataclass(frozen=True)
class BreakCondition:
    """A condition, its rule, and its verdict on every task that has the numbers."""

    name: str
    text: str
    rule: str
    tasks: list[TaskVerdict]

    def num(self, verdict: ConditionVerdict) -> int:
        return sum(each.verdict == verdict for each in self.tasks)


def break_conditions(tasks: Sequence[MeasuredTask]) -> list[BreakCondition]:
    """All three; `met` means that the mechanism should not work there."""
    level = level_text(task.summary for task in tasks)
    over_seeds = (
        f"{level} interval over seeds: sign-flip test from {FEWEST_FLIPPED} seeds on, Student's t below."
    )
    return [
        BreakCondition(
            "dispersion",
            "The dispersion of top-k is not clearly below that of full attention.",
            f"75 % quantile of the dispersion of top-k's own model over that of full's, held-out data, after training. {HOW_CARRIED} {over_seeds} Not met: the interval of the "
            f"geometric mean ends at {CLEARLY_BELOW} or below. Met: it begins at {NOT_BELOW} or above. Undecided: all else, or fewer than {FEWEST_SEEDS} seeds. The condition asks for a small ratio, whatever makes it "
            "small: scores that know nothing have one too, which is reported beside the numbers (independent Gaussian scores of one size, same quantile).",
            _each(tasks, _dispersion),
        ),
        BreakCondition(
            "expressivity",
            "The task needs many dispersed signals, so that keeping few keys costs expressivity.",
            f"Last training and held-out accuracy of top-k minus that of full attention. {over_seeds} Met: the interval of the mean lies below -{MARGIN:.0%} for training accuracy. "
            f"Not met: it begins at -{MARGIN:.0%} or above for both. Undecided: all else, or fewer than {FEWEST_SEEDS} seeds.",
            _each(tasks, _expressivity),
        ),
        BreakCondition(
            "separation",
            "Scores are nearly uniform, so that the choice of keys flips under small perturbations.",
            f"Share of top-k's kept keys that stay kept under noise of 1 % of the embeddings, after training, in the same layer. {over_seeds} Met: the interval of the mean lies "
            f"below {STAYS:.0%}. Not met: it begins at {STAYS:.0%} or above. Undecided: all else, or fewer than {FEWEST_SEEDS} seeds.",
            _each(tasks, _separation),
        ),
    ]


def _each(
    tasks: Sequence[MeasuredTask], judge: Callable[[MeasuredTask, str], TaskVerdict | None]
) -> list[TaskVerdict]:
    found = []
    for task in tasks:
        k = kept_of(task)
        verdict = None if k is None else judge(task, f"top_k({k})")
        if verdict is not None and task.num_open("full", f"top_k({k})"):
            verdict = replace(
                verdict, verdict="undecided", numbers=f"{verdict.numbers}; not all runs have ended"
            )
        found += [verdict] if verdict is not None else []
    return found


def _dispersion(task: MeasuredTask, label: str) -> TaskVerdict | None:
    ratios = list(dispersion_ratios(task, label, "end", False).values())
    k = kept_of(task)
    if not ratios or k is None:
        return None
    low, high = _interval([math.log(max(each, _LEAST)) for each in ratios], task)
    verdict = _verdict(low >= math.log(NOT_BELOW), high <= math.log(CLEARLY_BELOW), len(ratios))
    noise = gaussian_null_at(task.runs[0].length, k, float(QUANTILE))["c1"]
    numbers = (
        f"{label} over full {_listed(ratios)} (noise of one size {noise:.2f}){_layers(task, 'full', label)}"
    )
    return TaskVerdict(task.task, verdict, numbers, len(ratios))


def _expressivity(task: MeasuredTask, label: str) -> TaskVerdict | None:
    full, arm = task.of("full"), task.of(label)
    lost = []
    for seed in sorted(full.keys() & arm.keys()):
        ends = [
            (getattr(full[seed], name), getattr(arm[seed], name))
            for name in ("last_train_accuracy", "last_held_out_accuracy")
        ]
        if all(value is not None for pair in ends for value in pair):
            lost.append([base - own for base, own in ends])
    if not lost:
        return None
    (least, most), (_, most_held_out) = (_interval([each[place] for each in lost], task) for place in (0, 1))
    verdict = _verdict(least > MARGIN, most <= MARGIN and most_held_out <= MARGIN, len(lost))
    chance = [
        value for run in full.values() if (value := run.value("focus_chance", "end", "mean")) is not None
    ]
    decide = (
        f"; the label needs about {count_of(round(chance[0] * next(iter(full.values())).length), 'token')}"
        if chance
        else ""
    )
    train, held_out = ([-each[place] for each in lost] for place in (0, 1))
    numbers = (
        f"{label} minus full: training {_listed(train, '+.1%')}, held-out {_listed(held_out, '+.1%')}{decide}"
    )
    return TaskVerdict(task.task, verdict, numbers, len(lost))


def _separation(task: MeasuredTask, label: str) -> TaskVerdict | None:
    shares = [
        value
        for run in task.of(label).values()
        if (value := carried(run, "mask_agreement_0.01", "end", "mean")) is not None
    ]
    if not shares:
        return None
    low, high = _interval(shares, task)
    verdict = _verdict(high < STAYS, low >= STAYS, len(shares))
    numbers = f"{label} keeps {_listed(shares, '.1%')}{_layers(task, label)}"
    return TaskVerdict(task.task, verdict, numbers, len(shares))


def _layers(task: MeasuredTask, *labels: str) -> str:
    """`; layer 2 of full, layer 1 of top_k(5)`, where that is known."""
    found = {label: layers_text(list(task.of(label).values())) for label in labels}
    said = ", ".join(f"{layers} of {label}" for label, layers in found.items() if layers)
    return f"; {said}" if said else ""


def _interval(values: Sequence[float], task: MeasuredTask) -> tuple[float, float]:
    """For the mean over seeds, as for speedups: the sign-flip test inverted, with few seeds Student's t."""
    if len(values) < FEWEST_SEEDS:
        return -math.inf, math.inf
    low, high = (
        sign_flip_interval(values, task.summary.alpha) if len(values) >= FEWEST_FLIPPED else (None, None)
    )
    if low is not None and high is not None:
        return low, high
    middle, num = fmean(values), len(values)
    error = t_factor(num - 1, task.summary.alpha) * stdev(values) / math.sqrt(num)
    return middle - error, middle + error


def _verdict(met: bool, not_met: bool, num_seeds: int) -> ConditionVerdict:
    if num_seeds < FEWEST_SEEDS:
        return "undecided"
    return "met" if met else "not met" if not_met else "undecided"


def _listed(values: Sequence[float], form: str = ".2f") -> str:
    return ", ".join(format(round(value, 6) + 0.0, form).replace("-0.0%", "+0.0%") for value in values)
