"""Probe rows as a run's directory keeps them: which measurement they belong to, how they are found and added."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from semfocus.runs import RunDirectory
from semfocus.studies.measuring import Row
from semfocus.training.trained_run import TrainedRun

#: seconds to wait for another process that adds its own rows
_PATIENCE = 10.0
#: which rows are about the same thing: of these, the newest are kept
_SAME = ("epoch", "data", "samples", "pattern", "counterfactual")


def label_of(name: str, quantities: Sequence[str]) -> str:
    """`all:1f3a9c2e`: another version may know other quantities, and then rows of this one are not all there are."""
    digest = hashlib.sha256(json.dumps(sorted(quantities)).encode()).hexdigest()
    return f"{name}:{digest[:8]}"


def labelled(rows: Sequence[Row], label: str, trained: TrainedRun) -> list[Row]:
    more: dict[str, Any] = {"epoch": trained.epoch, "quantities": label}
    if trained.problems:
        more["problems"] = list(trained.problems)
    return [{**row, **more} for row in rows]


def find_rows(
    rows: Sequence[Row], label: str, epoch: int, part: str, samples: int, pattern: str | None
) -> list[Row]:
    """The rows of the model's own pattern (None) or of another one on its scores."""
    return [
        row
        for row in rows
        if (row.get("quantities"), row["epoch"], row["data"], row["samples"]) == (label, epoch, part, samples)
        and (row["pattern"] == pattern if row["counterfactual"] else pattern is None)
    ]


def add_rows(directory: RunDirectory, new: Sequence[Row]) -> list[Row]:
    """Keep the rows beside those that are there, of another process perhaps, and in place of older ones like them."""

    def like(row: Row) -> tuple[Any, ...]:
        family = str(row.get("quantities")).split(":")[0]
        return family, *(row.get(key) for key in _SAME)

    replaced = {like(row) for row in new}
    with directory.owned(_PATIENCE):
        rows = [*(row for row in directory.probes() if like(row) not in replaced), *new]
        directory.write_probes(rows)
    return rows
