"""From a record's curve to the time at which a target was first seen reached."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal

from semfocus.studies.arms import Record
from semfocus.studies.statistics import Time

Clock = Literal["epochs", "seconds"]


def looks(record: Record, clock: Clock) -> list[float]:
    """When the run was looked at: after each epoch, in epochs or in seconds of training (evaluation not counted)."""
    curve: dict[str, list[Any]] = record.get("curve") or {}
    epochs = [float(epoch) for epoch in curve.get("epoch", [])]
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
    return max((looks(record, clock)[-1] for record in records if looks(record, clock)), default=0.0)


def time_to(
    record: Record, column: str, target: float, clock: Clock, horizon: float, at_most: bool = False
) -> Time:
    """The first look at which a column of the curve is at least (`at_most`: at most) the target, else censored at the last look.

    A run that diverged is over: it will not reach the target however long one looks, so it counts as
    looked at until `horizon`, the longest look of the comparison. A run that failed or was interrupted
    might have, and is censored where it stopped.
    """
    when = looks(record, clock)
    curve: dict[str, list[Any]] = record.get("curve") or {}
    for index, value in enumerate(curve.get(column, [])):
        if value <= target if at_most else value >= target:
            return Time(when[index], True, _resolution(when, index, clock))
    last = when[-1] if when else 0.0
    return Time(max(last, horizon) if record.get("state") == "diverged" else last, False)


def _resolution(when: Sequence[float], index: int, clock: Clock) -> float:
    if index > 0:
        return when[index] - when[index - 1]
    if len(when) > 1:
        return when[1] - when[0]
    return (
        1.0 if clock == "epochs" else 0.0
    )  # a run that stopped untrained does not tell its seconds an epoch
