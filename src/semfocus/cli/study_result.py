"""The end of a study: a table and a sentence for each task, what went wrong, the report, how to go on."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.cli.json_output import print_json

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

    records = result.records
    summaries = analyse(records, apart_from=result.source.own_settings)
    lengths = _length_rows(result, execution) if result.source.evaluates_lengths else []
    page = None if no_report else _write_report(result, report or _usual_place(result, execution))
    unsuccessful = [record for record in records if record["state"] != "done"]
    if as_json:
        found = {
            "study": result.source.name,
            "question": result.source.question,
            "command": result.command,
            "report": None if page is None else str(page),
            "sentences": [summary.sentence for summary in summaries],
            "summaries": [_plain(summary) for summary in summaries],
            "lengths": lengths,
            "records": records,
        }
        print_json(found)
        return len(unsuccessful)
    from rich.console import Console

    console = Console(highlight=False)
    console.print(result.source.question, style="bold", markup=False)
    for summary in summaries[:_TABLES]:
        _print_summary(console, summary)
    if len(summaries) > _TABLES:
        console.print(f"... and {len(summaries) - _TABLES} more comparisons, in the report.")
    if lengths:
        _print_lengths(console, lengths)
    for record in unsuccessful:
        console.print(f"{_name(record)} {record['state']}: {record.get('reason')}", markup=False, style="red")
    if page is not None:
        console.print(f"Report: {page}", markup=False, soft_wrap=True)
    console.print(f"To continue or repeat: {result.command}", markup=False, soft_wrap=True)
    return len(unsuccessful)


def _print_summary(console: "Console", summary: "TaskSummary") -> None:
    from rich.markup import escape
    from rich.table import Table

    from semfocus.studies.tables import COLUMNS, summary_rows

    setting = ", ".join(f"{key}={value}" for key, value in summary.comparison.setting.items())
    title = f"{summary.comparison.task} (target: {summary.target:.0%} training accuracy)"
    table = Table(title=escape(title), title_justify="left", caption=escape(setting), caption_justify="left")
    for key in _COLUMNS:
        table.add_column(COLUMNS[key], justify="left" if key == "arm" else "right")
    for row in summary_rows(summary):
        table.add_row(*(escape(row[key]) for key in _COLUMNS))
    console.print(table)
    console.print(summary.sentence, markup=False)
    for note in summary.notes:
        console.print(f"Note: {note}", markup=False, style="dim")
    console.print()


def _length_rows(result: "StudyResult", execution: "Execution") -> list[dict[str, Any]]:
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


def _name(record: "Record") -> str:
    spec = record["spec"]
    return f"{spec.get('task')} {spec.get('pattern')} seed {spec.get('seed')} ({record['run']})"
