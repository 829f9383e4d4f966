"""Which share of the seeds has not reached the target yet, epoch by epoch."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from semfocus.analysis.overview import comparison_names
from semfocus.report.curves import epoch_grid
from semfocus.report.figures.axis import PLAIN, shares
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.lines import panels_of
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, tooltip
from semfocus.report.palette import Ink

if TYPE_CHECKING:
    from semfocus.analysis.summaries import ArmSummary, TaskSummary

_COLUMNS: Mapping[str, type] = {
    **{"task": str, "panel": str, "arm": str, "group": str, "epoch": float, "left": float},
    **{"low": float, "high": float, "seed": str, "last": float},
}


def survival_frame(summaries: Iterable["TaskSummary"]) -> pl.DataFrame:
    """After each epoch at which a seed got there the share that is left, with its 95 % interval.

    A row with a seed is one that had not reached the target when its run ended.
    """
    known = list(summaries)
    names = comparison_names(known)
    return tidy((row for summary in known for row in _rows(summary, names[id(summary)])), _COLUMNS)


def _rows(summary: "TaskSummary", task: str) -> Iterable[dict[str, Any]]:
    comparison = summary.comparison
    last = epoch_grid([record for own in comparison.arms.values() for record in own])[-1]
    for arm in summary.arms:
        common = {
            "task": task,
            "panel": f"seeds not yet at {summary.goal.short}",
            "arm": arm.label,
            "group": arm.group,
            "last": last,
        }
        for row in _steps(arm, comparison.arms[arm.label]):
            yield {**common, **row}


def _steps(arm: "ArmSummary", records: Sequence[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """A run that diverged counts as looked at to the end, but its tick stands where it really ended."""
    from semfocus.analysis.statistics.survival import kaplan_meier

    times = list(arm.times.values())
    if not times:
        return
    curve = kaplan_meier([time.value for time in times], [time.reached for time in times])
    steps = [(0.0, 1.0, 1.0, 1.0), *zip(curve.times, curve.survival, curve.low, curve.high, strict=True)]
    for epoch, left, low, high in steps:
        yield {"epoch": epoch, "left": left, "low": low, "high": high}
    end = max(time.value for time in times)
    if end > steps[-1][0]:
        yield {"epoch": end, "left": steps[-1][1], "low": steps[-1][2], "high": steps[-1][3]}
    for record in records:
        seed = record["spec"]["seed"]
        if not arm.times[seed].reached:
            ended = float(max((record.get("curve") or {}).get("epoch", []), default=0))
            left = next(share for epoch, share, *_ in reversed(steps) if epoch <= ended)
            yield {"epoch": ended, "left": left, "seed": seed}


def _panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return panels_of(frame, _panel)


def _panel(title: str, own: pl.DataFrame) -> Panel:
    arms = own["arm"].unique(maintain_order=True).to_list()
    rows = own.select("arm", "epoch", "left", "seed")

    def draw(data: Spec, look: Look, index: int) -> Spec:
        last = {"domain": [0, look.value(index, "last")], "nice": False}
        across = column("epoch:Q", title="epoch", scale=last, axis={"tickCount": 5, "labelExpr": PLAIN})
        base = {"x": across, "y": shares().channel("left"), "color": look.colours(arms)}
        said = tooltip(("arm:N", "attention"), "epoch:Q", ("left:Q", "not there yet", ".0%"))
        steps = {**base, "strokeDash": look.dashes(arms), "opacity": look.picked(1, 0.12)}
        last_look = [*said, *tooltip(("seed:N", "ended before it, seed"))]
        ended = {**base, "opacity": look.picked(1, 0.1), "tooltip": last_look}
        lines = mark(
            "line", steps, where="datum.seed === null", interpolate="step-after", strokeWidth=2, clip=True
        )
        ticks = mark("point", ended, where="datum.seed !== null", shape="M0,-.6V.6", size=64, strokeWidth=1.6)
        if not look.live:
            return layers(data, lines, ticks)
        lines["params"] = [look.zoom(index)]
        found = {**base, "opacity": look.found(index), "tooltip": said}
        hover = look.hover(index, ["arm", "epoch"])
        points = mark(
            "point", found, where="datum.seed === null", params=[hover], filled=True, size=42, clip=True
        )
        return layers(data, lines, ticks, points, params=[look.pick])

    return Panel(title, rows, draw, values={"last": max(1.0, own["last"][0])}, kind=("survival", *arms))


SURVIVAL = Figure("survival", "Seeds that have not reached the target", survival_frame, _panels)
