"""When runs reached their goal: the goals of a comparison, and the times of its runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import median
from typing import Any, Literal

from semfocus.analysis.comparisons import Comparison
from semfocus.analysis.statistics import Time
from semfocus.runs.outcome import is_text
from semfocus.runs.record import Record
from semfocus.words import percent, with_span


@dataclass(frozen=True)
class Goal:
    """A value that a column of the curve must reach, from below or (`at_most`) from above, and its name in a
    sentence.
    """

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

    An accuracy of 95 % means nothing where the next token cannot be known. For text the goal is the held-out
    loss that the baseline had after its last epoch, on the worst of its seeds, so that all of them reach it;
    beside it the same of the training loss.
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


_SUSTAINED = 5


def _other_goals(goal: Goal) -> dict[str, Goal]:
    """What a result must not hang on; none for text, whose goal is a loss."""
    if goal.at_most or goal.column != "train_accuracy":
        return {}
    found = {
        f"{percent(value)}": Goal(goal.column, value, f"{percent(value)} training accuracy")
        for value in (0.8, 0.9, 0.95, 0.99)
        if value != goal.value
    }
    words = f"{percent(goal.value)} sustained for {_SUSTAINED} evaluations"
    return {**found, words: Goal(goal.column, goal.value, words, sustained=_SUSTAINED)}


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
    might have, and is censored where it stopped. Of a run without its curve the summary knows one such time.
    """
    when = looks(record, clock)
    if not when and clock == "epochs" and _is_summarised(record, goal):
        summary = record["summary"]
        reached = summary.get("epochs_to_target")
        return Time(float(summary["epochs"]), False) if reached is None else Time(float(reached), True, 1.0)
    curve: dict[str, list[Any]] = record.get("curve") or {}
    values: Sequence[float] = curve.get(goal.column, [])
    if clock == "epochs" and goal.column == "train_accuracy" and goal.sustained == 1:
        when, values = _with_steps(record, when, values)
    in_a_row = 0
    for index, value in enumerate(values):
        is_there = value <= goal.value if goal.at_most else value >= goal.value
        in_a_row = in_a_row + 1 if is_there else 0
        if in_a_row == goal.sustained:
            first = index + 1 - goal.sustained
            return Time(when[first], True, _resolution(when, first, clock))
    # a run that was there at its last looks may have stayed
    last = when[max(0, len(when) - 1 - in_a_row)] if when else 0.0
    return Time(max(last, horizon) if record.get("state") == "diverged" else last, False)


def _with_steps(
    record: Record, when: list[float], values: Sequence[float]
) -> tuple[list[float], Sequence[float]]:
    """The looks between epochs among them, in parts of an epoch, for runs with `training.evaluate_every`."""
    per_epoch = steps_per_epoch(record) if record.get("steps") else None
    if per_epoch is None:
        return when, values
    between = zip(record["steps"]["step"], record["steps"]["train_accuracy"], strict=True)
    seen = {step / per_epoch: value for step, value in between} | dict(zip(when, values, strict=False))
    return sorted(seen), [seen[place] for place in sorted(seen)]


def steps_per_epoch(record: Record) -> int | None:
    """None where the record does not say so."""
    training = (record.get("spec") or {}).get("training") or {}
    num, batch = record.get("num_train") or training.get("num_train"), training.get("batch_size")
    if not num or not batch:
        return None
    return math.ceil((num - training.get("drop_samples_per_epoch", 0)) / batch)


def _is_summarised(record: Record, goal: Goal) -> bool:
    """Whether the summary of a run that is done says when it reached this goal, or that it never did."""
    summary = record.get("summary") or {}
    asked = ("train_accuracy", goal.value, False, 1)
    known = (goal.column, summary.get("target_accuracy"), goal.at_most, goal.sustained)
    return record.get("state") == "done" and known == asked and summary.get("epochs") is not None


def _resolution(when: Sequence[float], index: int, clock: Clock) -> float:
    if index > 0:
        return when[index] - when[index - 1]
    if len(when) > 1:
        return when[1] - when[0]
    return 1.0 if clock == "epochs" else 0.0  # a run that stopped untrained has no seconds per epoch


def times_to(comparison: Comparison, goal: Goal, clock: Clock = "epochs") -> dict[str, dict[int, Time]]:
    """By arm and seed, when the goal was reached."""
    horizon = longest_look([record for records in comparison.arms.values() for record in records], clock)
    return {
        label: {record["spec"]["seed"]: time_to(record, goal, clock, horizon) for record in records}
        for label, records in comparison.arms.items()
    }


def other_times(comparison: Comparison, goal: Goal) -> dict[str, dict[str, dict[int, Time]] | str]:
    """The times to other targets than this goal, by their names; a text instead: why they are not known."""
    stop = comparison.setting.get("training.stop_at")
    found: dict[str, dict[str, dict[int, Time]] | str] = {}
    for name, other in _other_goals(goal).items():
        if stop is not None and (other.value > float(stop) or other.sustained > 1):
            found[name] = f"not measured (stopped at {percent(float(stop))})"
        else:
            found[name] = times_to(comparison, other)
    return found
