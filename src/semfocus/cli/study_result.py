"""The end of a study in the terminal: a table and a sentence for each task, what went wrong, how to go on."""

import shlex
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from semfocus.cli.output import print_json
from semfocus.measurements.measurement import own_tables
from semfocus.runs.arms import arm_of, run_title, task_title, varying_keys
from semfocus.runs.directory import FAILURE
from semfocus.words import count_of

if TYPE_CHECKING:
    from rich.console import Console

    from semfocus.analysis.summaries import TaskSummary
    from semfocus.runs import Store
    from semfocus.runs.record import Record
    from semfocus.study import StudyResult

#: of the columns of analysis/tables.py, those that fit a terminal of 80 columns, by their short titles; the
#: last where it is wider
_COLUMNS = {
    "arm": "arm",
    "reached": "reached",
    "epochs": "epochs",
    "short_speedup": "speedup",
    "short_held_out": "held-out",
    "seconds": "seconds",
}
_WIDE = 110
#: more comparisons than this are left to the report
_TABLES = 24
#: more runs than this are not written out
_MOST_NAMED = 4


def show_result(
    result: "StudyResult", *, report: Path | None, no_report: bool, as_json: bool, probe_every: int | None
) -> int:
    """Print, measure what the recipe asks for, write the pages, and return how much did not succeed."""
    console = None if as_json else _console()
    if console is not None:  # before anything else that takes time or may fail
        _print_summaries(console, result)
    result = result.measured()
    pages = [] if no_report else result.pages(report)
    not_along = _not_measured_along(result, probe_every)
    if console is not None:
        _print_rest(console, result, pages, not_along, probe_every)
    else:
        print_json(_as_plain(result, pages, not_along))
    return len(_unsuccessful(result)) + len(result.errors)


def _as_plain(result: "StudyResult", pages: list[Path], not_along: list[str]) -> dict[str, Any]:
    errors: dict[str, list[str]] = {name: [] for name in ("lengths", "twins", "inside", "landscape")}
    for (_, name), line in zip(result.problems, result.errors, strict=True):
        errors.setdefault(name, []).append(line)
    return {
        "study": result.study.name,
        "question": result.study.question,
        "command": result.study.command,
        "report": str(pages[0]) if pages else None,
        "sentences": [summary.sentence for summary in result.summaries],
        "findings": [each.as_values() for each in result.findings],
        "summaries": [_plain(summary) for summary in result.summaries],
        "landscapes": str(pages[1]) if len(pages) > 1 else None,
        "lengths": _length_rows(result),
        "length_errors": errors["lengths"],
        "twins": {record.run: found for record in result.records if (found := record.measured("twins"))},
        "twin_errors": errors["twins"],
        "probe_errors": errors["inside"],
        "not_measured_along": not_along,
        "landscape_errors": errors["landscape"],
        "measurements": {
            name: [{"run": record.run, "row": row} for record, row in rows]
            for name, rows in own_tables(result.records).items()
        },
        "errors": {name: lines for name, lines in errors.items() if lines},
        "records": result.records,
    }


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


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False)


def _unsuccessful(result: "StudyResult") -> "list[Record]":
    return [record for record in result.records if record.state != "done"]


def _print_summaries(console: "Console", result: "StudyResult") -> None:
    console.print(result.study.question, style="bold", markup=False)
    for summary in result.summaries[:_TABLES]:
        _print_summary(console, summary)
    if len(result.summaries) > _TABLES:
        console.print(f"... and {len(result.summaries) - _TABLES} more comparisons, in the report.")
    for line in _conclusions(result):
        console.print(line, markup=False)
    console.print()


def _conclusions(result: "StudyResult") -> list[str]:
    """What all tasks show together, and which verdicts depend on the target."""
    from semfocus.analysis.sentences import fragile_sentence, pooled_sentence

    together = [each for each in result.findings if each.task is None]
    pooled = [pooled_sentence(each, brief=place > 0) for place, each in enumerate(together)]
    asked = [each for each in result.findings if each.task is not None and each.is_primary]
    return [*pooled, *(fragile_sentence(each) for each in asked if each.changes)]


def _print_summary(console: "Console", summary: "TaskSummary") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from semfocus.analysis.tables import summary_rows
    from semfocus.analysis.wording import values_text

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
        table.add_column(_COLUMNS[key], no_wrap=key != "arm")
    for row in summary_rows(summary):
        table.add_row(*(escape(row[key]) for key in columns))
    console.print(table)
    console.print(summary.sentence, markup=False)
    for note in summary.notes:
        console.print(f"Note: {note}", markup=False, style="dim")


def _print_rest(
    console: "Console",
    result: "StudyResult",
    pages: list[Path],
    not_along: list[str],
    probe_every: int | None,
) -> None:
    names = {each.name for each in result.study.measurements}
    if "lengths" in names:
        _print_lengths(console, _length_rows(result))
    if "twins" in names:
        _print_twins(console, result)
    keys = varying_keys([spec.model_dump(mode="json") for spec in result.specs])
    tasks = {spec.task for spec in result.specs}
    failures = [failure_line(record, result.study.store, keys, tasks) for record in _unsuccessful(result)]
    for line in [*failures, *result.errors]:
        console.print(line, markup=False, style="red", soft_wrap=True)
    if not_along:
        console.print(_along_hint(not_along, result, probe_every), markup=False, soft_wrap=True)
    for page in pages:
        console.print(f"Report: {page}", markup=False, soft_wrap=True)
    console.print(f"To continue or repeat: {result.study.command}", markup=False, soft_wrap=True)


def failure_line(
    record: "Record", store: "Store", keys: "list[str] | tuple[()]" = (), tasks: "set[str] | tuple[()]" = ()
) -> str:
    """Which run, its state and why, and where more is said."""
    trace = store.path / record.run / FAILURE
    run = f"{run_title(record.spec, keys, tasks) if record.spec else 'a run'} ({record.run})"
    more = f"; traceback: {trace}" if trace.exists() else ""
    return f"{run} {record.state}: {record.reason}{more}"


def _length_rows(result: "StudyResult") -> list[dict[str, Any]]:
    return [
        {"task": record.spec["task"], "arm": arm_of(record.spec).label, "seed": record.spec["seed"], **row}
        for record in result.records
        if record.state == "done"
        for row in record.measured("lengths")
    ]


def _print_lengths(console: "Console", rows: list[dict[str, Any]]) -> None:
    """One table per task: the median over seeds, lengths across."""
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


def _print_twins(console: "Console", result: "StudyResult") -> None:
    """One table per task, medians over seeds."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from semfocus.analysis.comparisons import comparisons
    from semfocus.measurements.twins import SHORT_COLUMNS, twin_table

    for comparison in comparisons(result.records):
        found = twin_table(comparison.arms)
        if found is None:
            continue
        table = Table(
            "attention",
            *SHORT_COLUMNS,
            title=escape(f"{comparison.title}: one training sample replaced, medians over seeds"),
            title_justify="left",
            caption="distance: of all parameters at the end; loss change: mean over held-out samples; "
            "the rest: the largest seen; bound: over the largest loss, a guide only",
            caption_justify="left",
            box=SIMPLE_HEAD,
        )
        for cells in found.rows(spread=False):
            table.add_row(*map(escape, cells))
        console.print(table)
        for sentence in found.sentences():
            console.print(sentence, markup=False)


def _not_measured_along(result: "StudyResult", every: int | None) -> list[str]:
    """Finished runs with epochs that --probe-every asked for and that trained before, so nobody was watching."""
    if every is None:
        return []
    from semfocus.measurements.training_probe import along_is_known

    directories = [result.study.store.directory(spec) for spec in result.done]
    return [each.name for each in directories if not along_is_known(each, every)]


def _along_hint(runs: list[str], result: "StudyResult", every: int | None) -> str:
    """What was not measured, and the command that measures it."""
    named = runs if len(runs) <= _MOST_NAMED else ["RUN"]
    words = ["semfocus", "probe", *(name[:10] for name in named), "--every", str(every)]
    command = shlex.join([*words, "--store", str(result.study.store.path)])
    was, it = ("was", "it") if len(runs) == 1 else ("were", "each")
    return (
        f"--probe-every: {count_of(len(runs), 'run')} had trained before and {was} not measured "
        f"along the way; this trains {it} again to do so: {command}"
    )
