"""Accuracy at other lengths than a run was trained at."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from semfocus.analysis.overview import comparison_names
from semfocus.measurements.lengths import length_table
from semfocus.report.curves import with_quartiles
from semfocus.report.figures.figure import Figure, Panel
from semfocus.report.figures.learning import from_round_share
from semfocus.report.figures.lines import Line, line_frame, line_panel, panels_of
from semfocus.report.palette import Ink

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary


def length_frame(summaries: Iterable["TaskSummary"]) -> pl.DataFrame:
    """A row for each seed and length, and for the median of each arm; empty if nobody looked."""
    lines = []
    known = list(summaries)
    names = comparison_names(known)
    for summary in known:
        comparison = summary.comparison
        table = length_table(comparison.arms)
        if table is None:
            continue
        for label, seeds in table.arms.items():
            common = {
                **{"task": names[id(summary)], "panel": "accuracy by length, after training"},
                **{"group": comparison.groups[label], "trained_at": table.trained_at},
            }
            lines.append(Line(label, with_quartiles(seeds), table.lengths, common))
    return line_frame(lines, trained_at=pl.Float64)


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return panels_of(frame, _panel)


def _panel(title: str, own: pl.DataFrame) -> Panel | None:
    trained = own["trained_at"][0]
    mark = None if trained is None else (trained, f"trained at {trained:g}")
    return line_panel(title, own, from_round_share, x="length", upright=mark, dots=True)


LENGTHS = Figure("lengths", "Accuracy by length", length_frame, _panels)
