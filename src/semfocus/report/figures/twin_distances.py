"""How far twin runs get from each other along training, and the bound of the theory on it."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from semfocus.analysis.overview import comparison_names
from semfocus.measurements.twins import TwinTable, twin_table
from semfocus.report.curves import MOST_POINTS, Sampled, Values, with_quartiles
from semfocus.report.figures.axis import logarithmic
from semfocus.report.figures.figure import Figure, Panel
from semfocus.report.figures.lines import Line, line_frame, line_panel, panels_of
from semfocus.report.palette import Ink

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

#: column of the rows -> what stands above its panel
PANELS = {
    "relative_distance": "one sample replaced: distance of parameters / norm",
    "held_out_loss": "one sample replaced: change of held-out loss",
    "train_loss": "one sample replaced: change of training loss",
}
BOUND = "stability bound / largest loss: a guide"
#: epochs at which the bound is computed, beside the first
_LOOKS = 40


def twin_frame(summaries: Iterable["TaskSummary"]) -> pl.DataFrame:
    """A row for each pair and epoch, and for the median of each arm, of four quantities; empty without twins."""
    lines: list[Line] = []
    known = list(summaries)
    names = comparison_names(known)
    for summary in known:
        comparison = summary.comparison
        table = twin_table(comparison.arms)
        for title, label, sampled, epochs in _quantities(table) if table else ():
            common = {"task": names[id(summary)], "panel": title, "group": comparison.groups[label]}
            lines.append(Line(label, sampled, epochs, common))
    return line_frame(lines)


def _quantities(table: TwinTable) -> Iterable[tuple[str, str, Sampled, list[int]]]:
    """Title, arm, its pairs and their epochs."""
    epochs = table.epochs
    step = max(1, math.ceil(len(epochs) / MOST_POINTS))
    places = sorted({*range(0, len(epochs), step), len(epochs) - 1})
    for column, title in PANELS.items():
        for label, pairs in table.curves(column).items():
            seeds: list[tuple[object, Values]] = [
                (seed, [values[place] for place in places]) for seed, values in pairs
            ]
            yield title, label, with_quartiles(seeds), [epochs[place] for place in places]
    looks = sorted({round(epochs[-1] * share / _LOOKS) for share in range(_LOOKS + 1)})
    for label, pairs in table.bounds(looks).items():
        yield BOUND, label, with_quartiles(pairs), looks


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return panels_of(frame, lambda title, own: line_panel(title, own, logarithmic))


TWINS = Figure(
    "twins", "One training sample replaced: how far do the twins get from each other?", twin_frame, _panels
)
