"""The end of a study: a table and a sentence for each task, what went wrong, the report, how to go on."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.cli.json_output import print_json
from semfocus.cli.study_state import failure_line

if TYPE_CHECKING:
    from rich.console import Console

    from semfocus.cli.study_afterwards import Afterwards
    from semfocus.cli.study_run import Execution, StudyResult
    from semfocus.runs.record import Record
    from semfocus.studies.summaries import TaskSummary

#: of the columns of studies/tables.py, those that fit a terminal, and how wide it must be for all of them
_COLUMNS = ("arm", "reached", "epochs", "seconds", "speedup", "last_held_out")
_WIDE = 110
#: more comparisons than this are left to the report
_TABLES = 24


def show_result(
    result: "StudyResult", execution: "Execution", *, report: Path | None, no_report: bool, as_json: bool
) -> int:
    """Print, write the report, and return how many runs did not succeed."""
    from semfocus.cli.study_afterwards import afterwards
    from semfocus.studies.analysis import analyse

    summaries = analyse(result.records, apart_from=result.source.own_settings)
    console = None if as_json else _console()
    if console is not None:  # before anything else that takes time or may fail
        _print_summaries(console, result, summaries)
    place = report or execution.store.path / f"{result.source.name}.html"
    surfaces = None if no_report or result.source.landscapes is None else _beside(place)
    found = afterwards(result, execution, surfaces)
    page = None if no_report else _write_report(result, execution, place)
    pages = [each for each in (page, surfaces) if each is not None and each.exists()]
    if console is not None:
        _print_rest(console, result, execution, found, pages)
    else:
        print_json(
            {
                "study": result.source.name,
                "question": result.source.question,
                "command": result.command,
                "report": None if page is None else str(page),
                "sentences": [summary.sentence for summary in summaries],
                "summaries": [_plain(summary) for summary in summaries],
                "landscapes": None if surfaces not in pages else str(surfaces),
                "lengths": found.lengths.rows,
                "length_errors": found.lengths.errors,
                "twins": found.twins.twins,
                "twin_errors": found.twins.errors,
                "probe_errors": found.unprobed,
                "not_measured_along": found.not_along,
                "landscape_errors": found.unsurveyed,
                "records": result.records,
            }
        )
    return len(_unsuccessful(result)) + len(found.errors)


def _beside(report: Path) -> Path:
    """The page about surfaces is one of its own: `small.html`, `small-landscapes.html`."""
    return report.with_name(f"{report.stem}-landscapes{report.suffix}")


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


def _print_rest(
    console: "Console",
    result: "StudyResult",
    execution: "Execution",
    found: "Afterwards",
    pages: list[Path],
) -> None:
    from semfocus.cli.study_lengths import print_lengths
    from semfocus.cli.study_probes import along_hint
    from semfocus.cli.study_twins import print_twins
    from semfocus.studies.titles import varying_keys

    print_lengths(console, found.lengths.rows)
    print_twins(console, result, found.twins)
    keys = varying_keys(spec.model_dump(mode="json") for spec in result.specs)
    tasks = {spec.task for spec in result.specs}
    failures = [failure_line(record, execution.store, keys, tasks) for record in _unsuccessful(result)]
    for line in [*failures, *found.errors]:
        console.print(line, markup=False, style="red", soft_wrap=True)
    if found.not_along:
        console.print(along_hint(found.not_along, execution), markup=False, soft_wrap=True)
    for page in pages:
        console.print(f"Report: {page}", markup=False, soft_wrap=True)
    console.print(f"To continue or repeat: {result.command}", markup=False, soft_wrap=True)


def _print_summary(console: "Console", summary: "TaskSummary") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from semfocus.report.wording import values_text
    from semfocus.studies.tables import COLUMNS, summary_rows

    setting = values_text(summary.comparison.setting)
    title = f"{summary.comparison.title}; target: {summary.goal.words}"
    columns = [key for key in _COLUMNS if key != "seconds" or console.width >= _WIDE]
    table = Table(
        title=escape(title),
        title_justify="left",
        caption=escape(f"setting: {setting or 'as in the paper'}"),
        caption_justify="left",
        box=SIMPLE_HEAD,
    )
    for key in columns:
        table.add_column(COLUMNS[key], no_wrap=key == "arm")
    for row in summary_rows(summary):
        table.add_row(*(escape(row[key]) for key in columns))
    console.print(table)
    console.print(summary.sentence, markup=False)
    for note in summary.notes:
        console.print(f"Note: {note}", markup=False, style="dim")
    console.print()


def _write_report(result: "StudyResult", execution: "Execution", path: Path) -> Path:
    from semfocus.report import write_report
    from semfocus.report.inside import with_inside
    from semfocus.report.lengths import with_evaluations
    from semfocus.report.twins import with_twins

    records = with_twins(execution.store, with_evaluations(execution.store, result.records))
    return write_report(
        with_inside(execution.store, records),
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
        "goal": summary.goal.words,
        "arms": [asdict(arm) for arm in summary.arms],
    }
