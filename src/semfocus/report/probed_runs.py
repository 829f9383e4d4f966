"""Runs with what was measured inside them, as plain values that a page or a table is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from semfocus.probes.names import Quantity
from semfocus.runs.arms import arm_of, task_title, tasks_of

Row = Mapping[str, Any]
#: layer and head; None where a quantity has no such thing
Slot = tuple[int | None, int | None]


@dataclass(frozen=True)
class ProbedRun:
    """A run at one epoch: `rows` at that epoch, `along` over epochs, `maps` of one sequence (measurements/maps.py).

    A model that somebody else trained has a record with little in it, and no epoch.
    """

    record: Mapping[str, Any]
    epoch: int | None
    rows: Sequence[Row]
    along: Sequence[Row] = ()
    maps: Mapping[str, Any] | None = None

    @property
    def problems(self) -> list[str]:
        """Why the rows may not be those of the run's own state, each said once."""
        found = [each for row in (*self.rows, *self.along) for each in row.get("problems", ())]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Probed:
    """All runs of a page, the quantities that occur, and the command that makes it."""

    runs: Sequence[ProbedRun]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    command: str = ""


def run_labels(runs: Sequence[ProbedRun]) -> dict[str, str]:
    """A name for each run and the group of its arm: the arm alone if that tells them apart, else with what does."""
    specs = [run.record["spec"] for run in runs]
    parts = [
        [arm_of(spec).label for spec in specs],
        [task_title(spec.get("task"), tasks_of(run.record for run in runs)) for spec in specs],
        [f"seed {spec.get('seed')}" for spec in specs],
        [f"epoch {run.epoch}" for run in runs],
        [str(run.record.get("run"))[:6] for run in runs],
    ]
    names = parts[0]
    for more in parts[1:]:
        if len(set(names)) == len(names):
            break
        if len(set(more)) > 1:
            names = [f"{name}, {each}" for name, each in zip(names, more, strict=True)]
    names = [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]
    return {name: arm_of(spec).group for name, spec in zip(names, specs, strict=True)}


def slots_of(rows: Sequence[Row]) -> dict[Slot, Row]:
    """Rows by layer and head. What is said of all layers together stands alone only where nothing else is said."""
    found = {(row.get("layer"), row.get("head")): row for row in rows}
    layered = {slot: row for slot, row in found.items() if slot[0] is not None}
    return dict(
        sorted(
            (layered or found).items(),
            key=lambda item: tuple(-1 if each is None else each for each in item[0]),
        )
    )


def slot_text(slot: Slot, num_heads: int) -> str:
    """Layers and heads count from 1: `3`, or `3.2` with several heads."""
    layer, head = slot
    if layer is None:
        return "all"
    return str(layer + 1) if head is None or num_heads == 1 else f"{layer + 1}.{head + 1}"


def as_if(label: str, pattern: str) -> str:
    """`full as top_k(5)`: the scores of the one, the selection of the other."""
    return f"{label} as {pattern}"
