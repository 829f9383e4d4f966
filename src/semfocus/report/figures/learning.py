"""Learning curves: training and held-out accuracy, for text perplexity, along epochs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.analysis.overview import comparison_names
from semfocus.report.curves import Sampled, Values, epoch_grid, sample
from semfocus.report.figures.axis import Axis, logarithmic, shares
from semfocus.report.figures.figure import Figure, Look, Panel
from semfocus.report.figures.lines import Line, line_frame, line_overview, line_panel, panels_of
from semfocus.report.figures.vega_lite import Spec
from semfocus.report.palette import Ink
from semfocus.words import percent

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary


def curve_frame(summaries: Iterable["TaskSummary"]) -> pl.DataFrame:
    """A row for each seed and epoch, and for the median of each arm, of both quantities; `target` is what was
    to be reached.
    """
    known = list(summaries)
    names = comparison_names(known)
    lines = [line for summary in known for line in _lines(summary, names[id(summary)])]
    return line_frame(lines, target=pl.Float64, log=pl.Boolean)


def _lines(summary: "TaskSummary", task: str) -> Iterable[Line]:
    comparison = summary.comparison
    grid = epoch_grid([record for own in comparison.arms.values() for record in own])
    for name, column, target in _quantities(summary):
        for label, own in comparison.arms.items():
            sampled = (perplexities_on if summary.by_loss else sample)(own, column, grid)
            common = {"task": task, "panel": name, "group": comparison.groups[label]}
            yield Line(label, sampled, grid, {**common, "target": target, "log": summary.by_loss})


def _quantities(summary: "TaskSummary") -> list[tuple[str, str, float | None]]:
    """Name, column and target."""
    if not summary.by_loss:
        return [
            ("training accuracy", "train_accuracy", summary.target),
            ("held-out accuracy", "held_out_accuracy", summary.held_out_target),
        ]
    goals = {"held-out perplexity": summary.goal, "training perplexity": summary.second_goal}
    return [
        (name, goal.column, goal.perplexity if math.isfinite(goal.value) else None)
        for name, goal in goals.items()
    ]


def perplexities_on(records: Sequence[Mapping[str, Any]], column: str, grid: Sequence[int]) -> Sampled:
    """exp(loss) on the grid. The untrained model is left out: it would press all that follows into a corner."""
    losses = sample(records, column, grid)

    def raised(values: Values) -> Values:
        return [
            None if loss is None or epoch == 0 else math.exp(min(loss, 700.0))
            for epoch, loss in zip(grid, values, strict=True)
        ]

    return replace(
        losses,
        seeds=[(seed, raised(values)) for seed, values in losses.seeds],
        median=raised(losses.median),
        lower=raised(losses.lower),
        upper=raised(losses.upper),
    )


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return panels_of(frame, _panel)


def _panel(title: str, own: pl.DataFrame) -> Panel | None:
    target = own["target"][0]
    if own["log"][0]:
        level = None if target is None else (target, f"target {target:.3g}")
        return line_panel(
            title, own, lambda values: logarithmic(values, room=1.03), level=level, level_words="left"
        )
    return accuracy_panel(title, own, target)


def accuracy_panel(title: str, own: pl.DataFrame, target: float | None) -> Panel | None:
    """Shares from a round one below the smallest up to 100 %."""
    level = None if target is None else (target, f"{percent(target)} target")
    return line_panel(title, own, from_round_share, level=level)


def from_round_share(values: Sequence[float]) -> Axis:
    """From a round share below the smallest, at most 90 %."""
    return shares(min(0.9, math.floor(10 * min(values)) / 10))


def _overview(frame: pl.DataFrame, look: Look) -> Spec:
    values = frame["value"].drop_nulls().to_list()
    axis = logarithmic(values, room=1.03) if frame["log"].any() else from_round_share(values)
    return line_overview(frame, look, axis.channel("value"))


CURVES = Figure("curves", "Learning curves", curve_frame, _panels, overview=_overview)
