"""What is known of each arm of a comparison: times to a goal, speedups, how its runs ended."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import median
from typing import Any, Literal

from semfocus.analysis.comparisons import Comparison
from semfocus.analysis.statistics import Estimate, Speedup, Time
from semfocus.analysis.statistics.significance import ALPHA
from semfocus.runs.arms import SHARPENED
from semfocus.runs.record import Record, is_text
from semfocus.words import percent, with_span


@dataclass(frozen=True)
class Goal:
    """A value that a column of the curve must reach, from below or (`at_most`) from above, and its name in a sentence."""

    column: str
    value: float
    words: str
    at_most: bool = False
    #: for so many looks in a row, of which the first counts
    sustained: int = 1

    @property
    def short(self) -> str:
        """Its name without the explanation."""
        return self.words.partition(" (")[0]

    @property
    def perplexity(self) -> float:
        """Of a goal that is a loss."""
        return math.exp(min(self.value, 700.0))


def goals_of(
    comparison: Comparison, target: float, held_out_target: float, baseline: str
) -> tuple[Goal, Goal]:
    """The goal by which arms are compared, and a second one beside it.

    An accuracy of 95 % means nothing where the next token cannot be known. For text the goal is the held-out loss that the
    baseline had after its last epoch, on the worst of its seeds, so that all of them reach it; beside it the same of
    the training loss.
    """
    if is_text(comparison.task):
        return tuple(
            _end_of(comparison, baseline, column, words)
            for column, words in (("held_out_loss", "held-out"), ("train_loss", "training"))
        )  # type: ignore[return-value]
    return (
        Goal("train_accuracy", target, f"{percent(target)} training accuracy"),
        Goal("held_out_accuracy", held_out_target, f"{percent(held_out_target)} held-out"),
    )


def _end_of(comparison: Comparison, baseline: str, column: str, words: str) -> Goal:
    ends = [
        record["curve"][column][-1]
        for record in comparison.arms.get(baseline, [])
        if record.get("state") == "done" and record["curve"].get(column)
    ]
    if not ends:  # nothing to reach before a run of the baseline has ended
        return Goal(column, -math.inf, f"the {words} perplexity at which {baseline} ends", at_most=True)
    goal = Goal(column, max(ends), "", at_most=True)
    return Goal(
        column,
        goal.value,
        f"{words} perplexity {goal.perplexity:.3g} (where {baseline} ended)",
        at_most=True,
    )


def perplexities(losses: list[float]) -> list[float]:
    return [math.exp(min(loss, 700.0)) for loss in losses]


def perplexity_text(losses: list[float]) -> str:
    """`6.31 (6.28 to 6.4)`: the median over seeds, and the range."""
    if not losses:
        return ""
    values = perplexities(losses)
    return with_span(*(f"{each:.4g}" for each in (median(values), min(values), max(values))))


Clock = Literal["epochs", "seconds"]


def looks(record: Record, clock: Clock) -> list[float]:
    """When the run was looked at: after each epoch, in epochs or in seconds of training (evaluation not counted)."""
    curve: dict[str, list[Any]] = record.get("curve") or {}
    epochs = list(map(float, curve.get("epoch", [])))
    if clock == "epochs":
        return epochs
    # Epoch 0 is the untrained model: what its clock says is overhead, not training.
    return list(
        accumulate(
            seconds if epoch > 0 else 0.0
            for epoch, seconds in zip(epochs, curve.get("train_seconds", []), strict=True)
        )
    )


def longest_look(records: Sequence[Record], clock: Clock) -> float:
    """The last time at which any of the runs was looked at."""
    return max((when[-1] for record in records if (when := looks(record, clock))), default=0.0)


def time_to(record: Record, goal: Goal, clock: Clock, horizon: float) -> Time:
    """The first look at which the goal is reached, and stays so as long as it asks; else censored at the last look.

    A run that diverged is over: it will not reach the target however long one looks, so it counts as
    looked at until `horizon`, the longest look of the comparison. A run that failed or was interrupted
    might have, and is censored where it stopped.
    """
    when = looks(record, clock)
    curve: dict[str, list[Any]] = record.get("curve") or {}
    in_a_row = 0
    for index, value in enumerate(curve.get(goal.column, [])):
        is_there = value <= goal.value if goal.at_most else value >= goal.value
        in_a_row = in_a_row + 1 if is_there else 0
        if in_a_row == goal.sustained:
            first = index + 1 - goal.sustained
            return Time(when[first], True, _resolution(when, first, clock))
    # a run that was there at its last looks may have stayed
    last = when[max(0, len(when) - 1 - in_a_row)] if when else 0.0
    return Time(max(last, horizon) if record.get("state") == "diverged" else last, False)


def _resolution(when: Sequence[float], index: int, clock: Clock) -> float:
    if index > 0:
        return when[index] - when[index - 1]
    if len(when) > 1:
        return when[1] - when[0]
    return (
        1.0 if clock == "epochs" else 0.0
    )  # a run that stopped untrained does not tell its seconds an epoch


@dataclass(frozen=True)
class Race:
    """One arm against the baseline on one clock; None where there is nothing to compare."""

    speedup: Speedup | None = None
    p: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True)
class ArmSummary:
    """What the runs of one arm say; lists of values are in the order of `ended_seeds`."""

    label: str
    group: str
    seeds: list[int]
    states: dict[str, int]
    total: int
    reached: int
    share_perfect: float
    epochs_to_target: Estimate
    mean_epochs: Estimate
    seconds_to_target: Estimate
    epochs_to_held_out: Estimate
    times: dict[int, Time]
    seconds: dict[int, Time]
    held_out_times: dict[int, Time]
    #: the runs that are done, and their last epoch: others may still change, or broke off (diverged)
    ended_seeds: list[int]
    last_held_out: list[float]
    gap: list[float]
    loss_gap: list[float]
    last_held_out_loss: list[float]
    last_train_loss: list[float]
    #: None for the baseline itself, and where there is none
    speedup: Speedup | None
    p: float | None
    p_holm: float | None
    smallest_p: float | None
    seconds_speedup: Speedup | None
    seconds_p: float | None
    seconds_p_holm: float | None
    held_out_speedup: Speedup | None
    held_out_p: float | None
    held_out_p_holm: float | None

    @property
    def is_going_on(self) -> bool:
        """Whether some of its runs have not ended."""
        return any(self.states.get(state) for state in ("unfinished", "running", "interrupted"))

    @property
    def is_sharpened(self) -> bool:
        """Whether the arm runs at another inverse temperature than 1, or with another factor of a control."""
        return SHARPENED in self.label


@dataclass(frozen=True)
class TaskSummary:
    """One comparison: its arms, the answer in one sentence, and what a reader should know beside it."""

    comparison: Comparison
    target: float
    held_out_target: float
    #: the targets with their names; for text they are losses
    goal: Goal
    second_goal: Goal
    baseline: str
    arms: list[ArmSummary]
    sentence: str
    notes: list[str] = field(default_factory=list)
    #: the error of its intervals
    alpha: float = ALPHA

    def is_set_like(self, other: "TaskSummary") -> bool:
        """Whether what both show may be pooled: they are judged alike, at one setting."""
        return self.by_loss == other.by_loss and self.comparison.is_set_like(other.comparison)

    @property
    def by_loss(self) -> bool:
        """Whether it is language models that are compared: by perplexity, not by accuracy."""
        return self.goal.at_most


def by_setting(summaries: Sequence[TaskSummary]) -> list[list[TaskSummary]]:
    """Groups of comparisons at one setting; settings are never pooled."""
    groups: list[list[TaskSummary]] = []
    for summary in summaries:
        own = next((group for group in groups if any(summary.is_set_like(each) for each in group)), None)
        if own is None:
            groups.append([summary])
        else:
            own.append(summary)
    return groups
