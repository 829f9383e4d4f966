"""The figures of the section "Why?" and of twin runs as SVG files, one for each question."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semfocus.durable import write_text
from semfocus.report.overview import arm_groups
from semfocus.report.palette import inks
from semfocus.report.sheet import sheet
from semfocus.report.texts import shortened
from semfocus.report.twin_figure import twin_figures
from semfocus.report.twins import twin_table
from semfocus.report.why import why_sections

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary


def write_why_sheets(summaries: Sequence["TaskSummary"], folder: Path) -> list[Path]:
    """`why-NAME` for each mechanism test (`why-NAME-2` at a second size), `twins-N` for each comparison; return their paths."""
    chosen = inks(arm_groups(summaries))
    seen: Counter[str] = Counter()
    sheets = {}
    for part in why_sections(summaries, chosen):
        for block in part.blocks:
            seen[block.name] += 1
            name = f"why-{block.name}" + (f"-{seen[block.name]}" if seen[block.name] > 1 else "")
            if block.figures:
                sheets[name] = sheet(block.question, block.figures, block.legend, chosen.values())
    for number, summary in enumerate(summaries, start=1):
        table = twin_table(summary.comparison.arms)
        if table is not None and (figures := twin_figures(table, chosen)):
            title = f"{shortened(summary.comparison.title, 40)}: one training sample replaced, how far do the twins get from each other?"
            legend = [(label, chosen[label]) for label in table.arms]
            sheets[f"twins-{number}"] = sheet(title, figures, legend, chosen.values())
    return [write_text(folder / f"{name}.svg", text) for name, text in sheets.items()]
