"""Curves of many seeds on one grid of at most some 200 epochs, with their median and quartiles."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Values = list[float | None]

#: more points than this on a curve are not seen, and would make the page heavy
MOST_POINTS = 200


@dataclass(frozen=True)
class Sampled:
    """One quantity of one arm: a row of values for each seed, and the quartiles over seeds, on common epochs."""

    seeds: list[tuple[object, Values]]
    median: Values
    lower: Values
    upper: Values


def epoch_grid(records: Sequence[Mapping[str, Any]], most: int = MOST_POINTS) -> list[int]:
    """Epochs from 0 to the last one that any run reached, evenly thinned; the last one stays."""
    last = max((max(_epochs(record), default=0) for record in records), default=0)
    step = max(1, math.ceil((last + 1) / (most - 1)))
    grid = list(range(0, last + 1, step))
    return grid if grid[-1] == last else [*grid, last]


def sample(records: Sequence[Mapping[str, Any]], column: str, grid: Sequence[int]) -> Sampled:
    """The quantity of every run on the grid, with the quartiles over runs.

    A run that was stopped at its target keeps its last value, or the median would be that of the slow seeds only.
    """
    return with_quartiles(
        [(record.get("spec", {}).get("seed"), _on_grid(record, column, grid)) for record in records]
    )


def with_quartiles(rows: list[tuple[object, Values]]) -> Sampled:
    """Rows of one length with their quartiles, where every row that has a value at all has one.

    Where one drops out, the median of the others would jump, as if something had happened to the model.
    """
    values = np.array([row for _, row in rows if any(value is not None for value in row)], dtype=float)
    if not len(values):
        nothing: Values = [None] * (len(rows[0][1]) if rows else 0)
        return Sampled(rows, nothing, nothing, nothing)
    ordered = np.sort(values, axis=0)  # a gap is sorted last
    return Sampled(rows, _quantile(ordered, 0.5), _quantile(ordered, 0.25), _quantile(ordered, 0.75))


def stopped_at_target(record: Mapping[str, Any]) -> bool:
    """Whether the run ended early on purpose."""
    training = record.get("spec", {}).get("training", {})
    return (
        record.get("state") == "done"
        and training.get("stop_at") is not None
        and max(_epochs(record), default=0) < training.get("epochs", 0)
    )


def _epochs(record: Mapping[str, Any]) -> list[int]:
    return record.get("curve", {}).get("epoch", [])


def _on_grid(record: Mapping[str, Any], column: str, grid: Sequence[int]) -> Values:
    known = dict(zip(_epochs(record), record.get("curve", {}).get(column, []), strict=False))
    row: Values = [_finite(known.get(epoch)) for epoch in grid]
    if known and stopped_at_target(record):
        last = max(known)
        row = [
            _finite(known[last]) if epoch > last else value for epoch, value in zip(grid, row, strict=True)
        ]
    return row


def _finite(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None


def _quantile(ordered: "NDArray[np.float64]", share: float) -> Values:
    """Of each column, linear between the two nearest values, as numpy does by default."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    found = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    gaps = np.isnan(ordered[-1]).tolist()
    return [None if gap else value for gap, value in zip(gaps, found.tolist(), strict=True)]
