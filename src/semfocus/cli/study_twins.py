"""The end of a study of twins: every run beside the same with one sample replaced, and a table for each task."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import typer

from semfocus.cli.study_state import title

if TYPE_CHECKING:
    from rich.console import Console

    from semfocus.cli.study_run import Execution, StudyResult
    from semfocus.runs import RunSpec


@dataclass(frozen=True)
class Measured:
    """Distances of runs from their twins, and which runs have none."""

    twins: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def measured_twins(result: "StudyResult", execution: "Execution") -> Measured:
    """By run, its distances from its twin; one that has none does not stop the others."""
    from semfocus.studies.twin_study import twin_study

    def say(spec: "RunSpec", place: int, total: int) -> None:
        if not execution.quiet:
            typer.echo(f"twins {place}/{total}: {title(spec)}", err=True)

    errors = twin_study(
        result.done,
        execution.store,
        executor=execution.executor,
        workers=execution.workers,
        device=execution.device,
        threads=execution.threads,
        recipe_file=result.recipe_file,
        watch=say,
    )
    return Measured(
        {
            spec.digest: execution.store.directory(spec).twins()
            for spec in result.done
            if spec.digest not in errors
        },
        [
            f"{title(spec)} has no twin: {errors[spec.digest]}"
            for spec in result.done
            if spec.digest in errors
        ],
    )


def print_twins(console: "Console", result: "StudyResult", measured: Measured) -> None:
    """One table a task, medians over seeds."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from semfocus.report.twins import KEY, SHORT_COLUMNS, twin_table
    from semfocus.studies.arms import comparisons

    records = [{**record, KEY: measured.twins.get(record["run"], [])} for record in result.records]
    for comparison in comparisons(records):
        found = twin_table(comparison.arms)
        if found is None:
            continue
        table = Table(
            "attention",
            *SHORT_COLUMNS,
            title=escape(f"{comparison.title}: one training sample replaced, medians over seeds"),
            title_justify="left",
            caption="distance: of all parameters at the end; loss change: mean over held-out samples; the rest: the largest seen; bound: over the largest loss, a guide only",
            caption_justify="left",
            box=SIMPLE_HEAD,
        )
        for cells in found.rows(spread=False):
            table.add_row(*map(escape, cells))
        console.print(table)
        for sentence in found.sentences():
            console.print(sentence, markup=False)
