"""The report as Markdown text: the same sentences and tables, for a repository or an issue."""

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from semfocus.analysis.claims import Claim, counted
from semfocus.analysis.overview import arm_groups, headline, how_judged, primary, scores
from semfocus.analysis.plans import Analysis
from semfocus.analysis.wording import TITLE, runs_text, setting_of
from semfocus.durable import write_text
from semfocus.measurements.lengths import length_table
from semfocus.measurements.twins import twin_table
from semfocus.report.commands import report_command, reruns, study_commands
from semfocus.report.palette import inks
from semfocus.report.tables import (
    FINDINGS_EXPLAINED,
    FindingTable,
    TaskTable,
    asked_findings,
    detail_table,
    finding_table,
    own_measurement_tables,
    target_table,
    task_table,
)
from semfocus.report.why import Why, why_sections
from semfocus.runs.arms import task_title, tasks_of
from semfocus.words import count_of, shortened, visible

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary
    from semfocus.runs.plan import Plan


def write_markdown(
    records: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str],
    *,
    plans: Sequence["Plan"] = (),
    title: str = TITLE,
    apart_from: Collection[str] = (),
    analysis: Analysis | None = None,
) -> Path:
    """Write the text and return its path."""
    return write_text(
        path, report_text(records, plans=plans, title=title, apart_from=apart_from, analysis=analysis)
    )


def report_text(
    records: Iterable[Mapping[str, Any]],
    *,
    plans: Sequence["Plan"] = (),
    title: str = TITLE,
    apart_from: Collection[str] = (),
    analysis: Analysis | None = None,
) -> str:
    """The whole report as text."""
    analysis = Analysis.of(records, plans, apart_from) if analysis is None else analysis
    known, plans, summaries, findings = (
        analysis.records,
        analysis.plans,
        analysis.summaries,
        analysis.findings,
    )
    main = primary(summaries)
    parts = [f"# {plain(shortened(title, 200))}", runs_text(known, len(main), analysis.num_missing)]
    if len(main) > 1:
        scored = scores(main)
        parts += [plain(each) for each in headline(main, findings)]
        parts += [plain(how_judged(scored))] if scored else []
    asked = asked_findings(findings)
    if asked:
        parts += ["## What is held against what", plain(FINDINGS_EXPLAINED), _findings(finding_table(asked))]
        parts += ["Does it depend on the target?", _findings(target_table(asked))] if asked[0].targets else []
    again = [each.command for each in reruns(plans)]
    parts += [f"To repeat: {_code(command)}" for command in again]
    parts += [f"This text: {_code(f'{report_command(known, plans)} --format markdown')}"] if known else []
    for summary in summaries:
        parts += _comparison(summary, plans, len(main) > 1)
    for why in why_sections(analysis, inks(arm_groups(summaries))):
        parts += _why(why)
    for table in own_measurement_tables(known):
        parts += [f"## Also measured: {plain(table.name)}", rows_as_markdown(table.columns, table.rows)]
        parts += [f"{count_of(table.more, 'more row')}: `semfocus export` gives all."] if table.more else []
    if not summaries or any(not each.by_loss for each in summaries):
        parts += ["## Claims", _claims(analysis.judged)]
    if any(record.get("state") != "done" for record in known):
        parts += ["## Runs that are not done", _troubled(known)]
    return "\n\n".join(parts) + "\n"


def _findings(table: FindingTable) -> str:
    return rows_as_markdown(["contrast", *table.columns], [[row.name, *row.cells] for row in table.rows])


def plain(text: object) -> str:
    """A user's text in one line, with nothing in it that Markdown or HTML would read as markup."""
    line = " ".join(visible(text).split())
    return re.sub(r"([\\`*_{}\[\]<>#|!~$&])", r"\\\1", line)


def _code(text: object) -> str:
    """The text as code; a fence longer than any run of backticks inside cannot be closed by it."""
    line = " ".join(visible(text).split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def _comparison(summary: "TaskSummary", plans: Sequence["Plan"], one_of_several: bool) -> list[str]:
    comparison = summary.comparison
    task = comparison.task if one_of_several else None
    runs = [str(record.get("run")) for records in comparison.arms.values() for record in records]
    parts = [
        f"## {plain(shortened(comparison.title, 80))}",
        plain(summary.sentence),
        f"Setting: {plain(setting_of(comparison))}.",
        plain(task_table(summary).legend.replace("Small numbers", "After each semicolon")),
        _table(task_table(summary)),
        _table(detail_table(summary)),
    ]
    lengths = length_table(comparison.arms)
    if lengths is not None:
        columns = ["accuracy at length", *map(str, lengths.lengths)]
        parts.append(rows_as_markdown(columns, lengths.rows()))
    twins = twin_table(comparison.arms)
    if twins is not None:
        parts += ["One training sample replaced, medians over seeds:"]
        parts.append(rows_as_markdown(["attention", *twins.columns], twins.rows()))
    notes = [*summary.notes, *(twins.sentences() if twins else [])]
    parts += [f"Note: {plain(note)}" for note in notes]
    return [*parts, *(f"To repeat: {_code(command)}" for command in study_commands(plans, runs, task))]


def _table(table: TaskTable) -> str:
    rows = [
        [
            f"{row.label} ({row.own})" if row.own else row.label,
            *("; ".join([cell.text, *cell.notes]) for cell in row.cells),
        ]
        for row in table.rows
    ]
    return rows_as_markdown(["attention", *table.columns], rows)


def rows_as_markdown(columns: Sequence[Any], rows: Sequence[Sequence[Any]]) -> str:
    """A pipe table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        f"| {' | '.join(cell if cell == '---' else plain(cell) for cell in line)} |" for line in lines
    )


def _why(why: Why) -> list[str]:
    parts = [f"## Why? ({plain(why.size)}: {count_of(why.num_runs, 'run')} measured)"]
    parts += [plain(why.not_tested)] if why.not_tested else []
    for block in why.blocks:
        parts += [f"### {plain(block.question)}", plain(block.how)]
        parts += ["\n".join(f"- {plain(line)}" for line in block.says)]
        parts += [f"What this does not show: {plain(block.says_not)}"]
        for table in block.tables:
            parts += [f"{plain(table.caption)}:", rows_as_markdown(table.columns, table.rows)]
    return parts


def _claims(judged: Sequence[Claim]) -> str:
    with_numbers = [claim for claim in judged if claim.evidence]
    settings = list(dict.fromkeys(setting for claim in with_numbers for setting in claim.settings))
    parts = [plain(counted(judged))]
    parts += [f"All runs: {plain(settings[0])}."] if len(settings) == 1 else []
    if with_numbers:
        rows = [
            [
                claim.text,
                f"{claim.verdict} ({claim.size})" if claim.size else claim.verdict,
                "; ".join([*claim.numbers, *_settings(claim.settings, len(settings) > 1)]),
            ]
            for claim in with_numbers
        ]
        parts.append(rows_as_markdown(["claim", "verdict", "numbers"], rows))
    if any(claim.verdict == "undecided" for claim in judged):
        parts.append(
            f"{_code('semfocus claims')} names the runs that the open ones need, and what they cost."
        )
    return "\n\n".join(parts)


def _settings(settings: Sequence[str], with_numbers: bool) -> list[str]:
    """The settings behind a claim's numbers, unless all claims share one."""
    return (
        [f"setting {place}: {setting}" for place, setting in enumerate(settings, start=1)]
        if with_numbers
        else []
    )


def _troubled(records: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    tasks = tasks_of(records)
    for record in records:
        if record.get("state") == "done":
            continue
        spec = record.get("spec") or {}
        what = [
            task_title(spec.get("task", "-"), tasks),
            *(spec.get(key, "-") for key in ("pattern", "seed")),
        ]
        rows.append([record.get("run", "-"), record.get("state", "-"), *what, record.get("reason") or "-"])
    return rows_as_markdown(["run", "state", "task", "pattern", "seed", "reason"], rows)
