"""The end of a study of lengths: a table for each task, arms down and lengths across."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from semfocus.cli.study_run import Execution, StudyResult


def length_rows(result: "StudyResult", execution: "Execution") -> list[dict[str, Any]]:
    """Accuracy of every finished run at every length."""
    from semfocus.studies.arms import arm_of
    from semfocus.studies.lengths import accuracy_by_length, lengths_for

    rows = []
    for spec, record in zip(result.specs, result.records, strict=True):
        if record["state"] == "done":
            found = accuracy_by_length(
                spec, execution.store, lengths_for(spec), device=execution.device, threads=execution.threads
            )
            own = {"task": spec.task, "arm": arm_of(record["spec"]).label, "seed": spec.seed}
            rows += [own | row for row in found]
    return rows


def print_lengths(console: "Console", rows: list[dict[str, Any]]) -> None:
    """One table a task: the median over seeds, lengths across."""
    from statistics import median

    from rich.markup import escape
    from rich.table import Table

    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        lengths = sorted({row["length"] for row in own})
        table = Table(
            "arm", *map(str, lengths), title=escape(f"{task}: accuracy by length, median over seeds")
        )
        for arm in dict.fromkeys(row["arm"] for row in own):
            cells = [
                [row["accuracy"] for row in own if (row["arm"], row["length"]) == (arm, length)]
                for length in lengths
            ]
            table.add_row(escape(arm), *(f"{median(cell):.3f}" if cell else "" for cell in cells))
        console.print(table)
