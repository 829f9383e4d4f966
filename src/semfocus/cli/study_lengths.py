"""The end of a study of lengths: a table for each task, arms down and lengths across."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from semfocus.cli.study_state import title
from semfocus.runs.directory import DamagedRun, RunBusy
from semfocus.runs.task_title import task_title

if TYPE_CHECKING:
    from rich.console import Console

    from semfocus.cli.study_run import Execution, StudyResult


@dataclass(frozen=True)
class Lengths:
    """Accuracies of trained runs at other lengths, and which runs could not be evaluated."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def evaluated_lengths(result: "StudyResult", execution: "Execution") -> Lengths:
    """Accuracy of every finished run at every length; one that cannot be evaluated does not stop the others."""
    from semfocus.studies.arms import arm_of
    from semfocus.studies.lengths import accuracy_by_length, lengths_for

    lengths = Lengths()
    for spec, record in zip(result.specs, result.records, strict=True):
        if record["state"] != "done":
            continue
        own = {"task": spec.task, "arm": arm_of(record["spec"]).label, "seed": spec.seed}
        try:
            found = accuracy_by_length(
                spec, execution.store, lengths_for(spec), device=execution.device, threads=execution.threads
            )
        except (ValueError, OSError, DamagedRun, RunBusy) as error:
            lengths.errors.append(f"{title(spec)} has no accuracies at other lengths: {error}")
        else:
            lengths.rows.extend(own | row for row in found)
    return lengths


def print_lengths(console: "Console", rows: list[dict[str, Any]]) -> None:
    """One table a task: the median over seeds, lengths across."""
    from statistics import median

    from rich.markup import escape
    from rich.table import Table

    tasks = list(dict.fromkeys(row["task"] for row in rows))
    for task in tasks:
        own = [row for row in rows if row["task"] == task]
        lengths = sorted({row["length"] for row in own})
        table = Table(
            "arm",
            *map(str, lengths),
            title=escape(f"{task_title(task, tasks)}: accuracy by length, median over seeds"),
        )
        for arm in dict.fromkeys(row["arm"] for row in own):
            cells = [
                [row["accuracy"] for row in own if (row["arm"], row["length"]) == (arm, length)]
                for length in lengths
            ]
            table.add_row(escape(arm), *(f"{median(cell):.3f}" if cell else "" for cell in cells))
        console.print(table)
