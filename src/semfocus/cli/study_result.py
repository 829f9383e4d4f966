"""The end of a study: a table and a sentence for each task, what went wrong, the report, how to go on."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.cli.json_output import print_json
from semfocus.cli.study_state import failure_line, title
from semfocus.runs.directory import DamagedRun, RunBusy

if TYPE_CHECKING:
    from rich.console import Console

    from semfocus.cli.study_run import Execution, StudyResult
    from semfocus.runs.record import Record
    from semfocus.studies.summaries import TaskSummary

#: of the columns of studies/tables.py, those that fit a terminal
_COLUMNS = ("arm", "reached", "epochs", "seconds", "speedup", "last_held_out")
#: more comparisons than this are left to the report
_TABLES = 24


def show_result(
    result: "StudyResult", execution: "Execution", *, report: Path | None, no_report: bool, as_json: bool
) -> int:
    """Print, write the report, and return how many runs did not succeed."""
    from semfocus.studies.analysis import analyse

    summaries = analyse(result.records, apart_from=result.source.own_settings)
    console = None if as_json else _console()
    if console is not None:  # before anything else that takes time or may fail
        _print_summaries(console, result, summaries)
    lengths = _lengths(result, execution) if result.source.evaluates_lengths else _Lengths()
    page = None if no_report else _write_report(result, report or _usual_place(result, execution))
    if console is not None:
        _print_rest(console, result, lengths, page)
    else:
        print_json(
            {
                "study": result.source.name,
                "question": result.source.question,
                "command": result.command,
                "report": None if page is None else str(page),
                "sentences": [summary.sentence for summary in summaries],
                "summaries": [_plain(summary) for summary in summaries],
                "lengths": lengths.rows,
                "length_errors": lengths.errors,
                "records": result.records,
            }
        )
    return len(_unsuccessful(result)) + len(lengths.errors)


@dataclass(frozen=True)
class _Lengths:
    """Accuracies of trained runs at other lengths, and which runs could not be evaluated."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def _unsuccessful(result: "StudyResult") -> "list[Record]":
    return [record for record in result.records if record["state"] != "done"]


def _print_summaries(console: "Console", result: "StudyResult", summaries: "list[TaskSummary]") -> None:
    console.print(result.source.question, style="bold", markup=False)
    for summary in summaries[:_TABLES]:
        _print_summary(console, summary)
    if len(summaries) > _TABLES:
        console.print(f"... and {len(summaries) - _TABLES} more comparisons, in the report.")


def _print_rest(console: "Console", result: "StudyResult", lengths: _Lengths, page: Path | None) -> None:
    _print_lengths(console, lengths.rows)
    for line in [*map(failure_line, _unsuccessful(result)), *lengths.errors]:
        console.print(line, markup=False, style="red")
    if page is not None:
        console.print(f"Report: {page}", markup=False, soft_wrap=True)
    console.print(f"To continue or repeat: {result.command}", markup=False, soft_wrap=True)


def _print_summary(console: "Console", summary: "TaskSummary") -> None:
    from rich.markup import escape
    from rich.table import Table

    from semfocus.studies.tables import COLUMNS, summary_rows

    setting = ", ".join(f"{key}={value}" for key, value in summary.comparison.setting.items())
    heading = f"{summary.comparison.task} (target: {summary.target:.0%} training accuracy)"
    table = Table(
        title=escape(heading), title_justify="left", caption=escape(setting), caption_justify="left"
    )
    for key in _COLUMNS:
        table.add_column(COLUMNS[key], justify="left" if key == "arm" else "right")
    for row in summary_rows(summary):
        table.add_row(*(escape(row[key]) for key in _COLUMNS))
    console.print(table)
    console.print(summary.sentence, markup=False)
    for note in summary.notes:
        console.print(f"Note: {note}", markup=False, style="dim")
    console.print()


def _lengths(result: "StudyResult", execution: "Execution") -> _Lengths:
    """Accuracy of every finished run at every length; one that cannot be evaluated does not stop the others."""
    from semfocus.studies.arms import arm_of
    from semfocus.studies.lengths import accuracy_by_length, lengths_for

    lengths = _Lengths()
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


def _print_lengths(console: "Console", rows: list[dict[str, Any]]) -> None:
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


def _usual_place(result: "StudyResult", execution: "Execution") -> Path:
    return execution.store.path / f"{result.source.name}.html"


def _write_report(result: "StudyResult", path: Path) -> Path:
    from semfocus.report import write_report

    return write_report(
        result.records,
        path,
        plans=result.plans,
        title=result.source.question,
        apart_from=result.source.own_settings,
    )


def _plain(summary: "TaskSummary") -> dict[str, Any]:
    """A summary without the records, which stand beside it."""
    comparison = summary.comparison
    return {
        "task": comparison.task,
        "setting": comparison.setting,
        "target": summary.target,
        "arms": [asdict(arm) for arm in summary.arms],
    }
