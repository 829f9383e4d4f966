"""Loss landscapes: maps in steps of equal loss, cuts through the model, and how steep the loss is."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from semfocus.report.figures.axis import PLAIN, Axis, logarithmic, round_ticks, value_axis
from semfocus.report.figures.figure import Figure, Look, Panel, tidy
from semfocus.report.figures.vega_lite import Spec, column, layers, mark, one_row, tooltip
from semfocus.report.palette import Ink
from semfocus.runs.arms import GROUPS, arm_of, task_title
from semfocus.words import percent, shortened

if TYPE_CHECKING:
    from semfocus.measurements.landscape.surface import Grid
    from semfocus.measurements.landscape.surface import Surface as Landscape

_SIDE = 280
#: colours of a map: equal losses within one are one step, so that its edges are lines of equal loss
_STEPS = 18
#: losses that differ by more than this factor are shown on a logarithmic scale
_LOGARITHMIC_FROM = 12.0
_MAP: Mapping[str, type] = {
    **{
        "name": str,
        "below": str,
        "pair": int,
        "x": float,
        "x2": float,
        "y": float,
        "y2": float,
        "loss": float,
    },
    **{"low": float, "high": float, "lowest": float, "highest": float, "log": bool},
}

#: what a pointer shows of each number; no two titles are equal, or one would hide the other
_SAID = {"low": "loss from", "high": "to", "x": "x from", "x2": "to ", "y": "y from", "y2": "to  "}


def surface_frame(landscapes: Sequence["Landscape"]) -> pl.DataFrame:
    """Stretches of each map along x whose losses lie between two levels; without a loss where it is not finite."""
    found = sorted(landscapes, key=place_on_the_page)
    levels, is_log = levels_of(found)
    rows = []
    for each, name in zip(found, run_names(found), strict=True):
        common = {
            "name": _title(each, name),
            "below": _below(each),
            "lowest": levels[0],
            "highest": levels[-1],
            "log": is_log,
        }
        for grid in each.grids:
            rows += [{**common, "pair": grid.pair + 1, **cell} for cell in _cells(grid, levels)]
    return tidy(rows, _MAP)


def levels_of(landscapes: Iterable["Landscape"]) -> tuple[list[float], bool]:
    """From the smallest to the largest finite loss of all maps together, so that equal colours are equal losses."""
    values = np.concatenate(
        [grid.losses.ravel() for each in landscapes for grid in each.grids] or [np.zeros(1)]
    )
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    is_log = low > 0 and high / low > _LOGARITHMIC_FROM
    if high <= low:
        return [low, low + 1.0], False
    spaced = np.geomspace(low, high, _STEPS + 1) if is_log else np.linspace(low, high, _STEPS + 1)
    return spaced.tolist(), is_log


def _cells(grid: "Grid", levels: Sequence[float]) -> Iterable[dict[str, Any]]:
    step = grid.axis[1] - grid.axis[0]
    classes = np.digitize(np.where(np.isfinite(grid.losses), grid.losses, 0.0), levels[1:-1])
    classes[~np.isfinite(grid.losses)] = -1
    for y, row, losses in zip(grid.axis, classes, grid.losses, strict=True):
        starts = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), len(row)]
        for start, end in pairwise(starts):
            kind = int(row[start])
            known = kind >= 0
            yield {
                **{"x": grid.axis[start] - step / 2, "x2": grid.axis[end - 1] + step / 2},
                **{
                    "y": y - step / 2,
                    "y2": y + step / 2,
                    "loss": float(losses[start:end].mean()) if known else None,
                },
                **{"low": levels[kind] if known else None, "high": levels[kind + 1] if known else None},
            }


def _surface_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    pairs = frame["pair"].n_unique()
    found = []
    for (pair, name, below), own in frame.group_by(["pair", "name", "below"], maintain_order=True):
        subtitle = f"{below}, pair {pair} of directions" if pairs > 1 else str(below)
        found.append((pair, _surface_panel(str(name), subtitle, own)))
    return [panel for _, panel in sorted(found, key=lambda each: each[0])]


def _surface_panel(title: str, subtitle: str, own: pl.DataFrame) -> Panel:
    radius = float(own["x2"].max())  # type: ignore[arg-type]
    lowest, highest, is_log = own["lowest"][0], own["highest"][0], own["log"][0]

    def draw(data: Spec, look: Look, index: int) -> Spec:
        scale = {"domain": [-radius, radius], "nice": False}
        ticks = {"tickCount": 5, "labelExpr": PLAIN, "grid": False}
        place = {
            name: column(f"{name}:Q", scale=scale, title=f"{name}, along direction {number}", axis=ticks)
            for number, name in enumerate("xy", start=1)
        }
        soft = look.paint("soft")
        legend = {
            **{"title": "loss", "type": "gradient", "orient": "bottom", "direction": "horizontal"},
            **{"gradientLength": _SIDE - 40, "labelExpr": PLAIN, "titleColor": soft, "labelColor": soft},
            **({"values": round_ticks(lowest, highest, 6)} if is_log else {}),
        }
        kind = "log" if is_log else "linear"
        colours = {"type": kind, "domain": [lowest, highest], "scheme": "viridis"}
        cells = {**place, "x2": {"field": "x2"}, "y2": {"field": "y2"}}
        losses = {
            **cells,
            "color": column("low:Q", scale=colours, legend=legend),
            "tooltip": tooltip(*((f"{name}:Q", words, ".3~g") for name, words in _SAID.items())),
        }
        cross: Spec = {"shape": "cross", "size": 70, "filled": True, "color": "#ffffff", "stroke": "#000000"}
        return layers(
            data,
            mark("rect", cells, where="datum.loss === null", color=soft, opacity=0.45),
            # cells overlap a little: no seams between them
            mark("rect", losses, where="datum.loss !== null", x2Offset=1, y2Offset=-1),
            mark("point", place, data=one_row(x=0, y=0), strokeWidth=1, opacity=1, **cross),
        )

    rows = own.select("x", "x2", "y", "y2", "loss", "low", "high")
    return Panel(
        title,
        rows,
        draw,
        height=_SIDE,
        width=_SIDE,
        subtitle=subtitle,
        kind=("surface", radius, lowest, highest, is_log),
        square=True,
    )


def cut_frame(landscapes: Sequence["Landscape"]) -> pl.DataFrame:
    """The loss on straight lines through the model: along each direction of each pair, one by one."""
    rows = []
    for each, name in zip(landscapes, run_names(landscapes), strict=True):
        arm = arm_of(each.run_spec)
        for grid in each.grids:
            half = len(grid.axis) // 2
            for direction, losses in ((1, grid.losses[half, :]), (2, grid.losses[:, half])):
                line = f"{name}, pair {grid.pair + 1}, direction {direction}"
                rows += [
                    {
                        "arm": arm.label,
                        "group": arm.group,
                        "line": line,
                        "panel": "loss",
                        "x": x,
                        "value": loss,
                    }
                    for x, loss in zip(grid.axis, losses.tolist(), strict=True)
                ]
    return tidy(rows, _LINE)


_LINE: Mapping[str, type] = {"arm": str, "group": str, "line": str, "panel": str, "x": float, "value": float}


def slope_frame(landscapes: Sequence["Landscape"], unit: str) -> pl.DataFrame:
    """Lipschitz estimates over the radius, for each quantile; per unit of the grid, or of the distance of
    parameters.
    """
    rows = []
    for each, name in zip(landscapes, run_names(landscapes), strict=True):
        arm = arm_of(each.run_spec)
        for grid in each.grids:
            for estimate in grid.lipschitz:
                for quantile, value in getattr(estimate, unit).items():
                    panel = "median" if quantile == 50 else f"{quantile} % quantile"
                    if value and math.isfinite(value):
                        line = f"{name}, pair {grid.pair + 1}"
                        rows.append(
                            {
                                "arm": arm.label,
                                "group": arm.group,
                                "line": line,
                                "panel": panel,
                                "x": estimate.radius,
                                "value": value,
                            }
                        )
    return tidy(rows, _LINE)


def _line_panels(frame: pl.DataFrame, x: str, axis: Axis) -> list[Panel]:
    return [
        _line_panel(str(name), own, x, axis)
        for (name,), own in frame.group_by(["panel"], maintain_order=True)
    ]


def _line_panel(title: str, own: pl.DataFrame, x: str, axis: Axis) -> Panel:
    arms = own["arm"].unique(maintain_order=True).to_list()

    def draw(data: Spec, look: Look, index: int) -> Spec:
        across = column("x:Q", title=x, scale={"nice": False}, axis={"tickCount": 5, "labelExpr": PLAIN})
        place = {"x": across, "y": axis.channel("value")}
        base = {**place, "color": look.colours(arms), "detail": column("line:N")}
        dashed = {**base, "strokeDash": look.dashes(arms), "opacity": look.picked(1, 0.1)}
        lines = mark("line", dashed, strokeWidth=1.8, clip=True)
        if not look.live:
            return layers(data, lines)
        lines["params"] = [look.zoom(index)]
        said = tooltip("line:N", ("x:Q", x, ".3~g"), ("value:Q", "value", ".3~g"))
        found = {**base, "opacity": look.found(index), "tooltip": said}
        points = mark(
            "point", found, params=[look.hover(index, ["line", "x"])], filled=True, size=42, clip=True
        )
        return layers(data, lines, points, params=[look.pick])

    return Panel(title, own.select("arm", "line", "x", "value"), draw)


def _cut_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    return _line_panels(frame, "distance along the direction", value_axis(frame["value"], "loss"))


def _slope_panels(frame: pl.DataFrame, inks: Mapping[str, Ink]) -> list[Panel]:
    values = frame["value"].to_list()
    axis = logarithmic(values) if max(values) / min(values) >= 3 else value_axis(values)
    return _line_panels(frame, "radius r", axis)


def place_on_the_page(landscape: "Landscape") -> tuple[str, int, str, int, int]:
    """Task by task, the baseline first."""
    spec, arm = landscape.run_spec, arm_of(landscape.run_spec)
    return str(spec["task"]), GROUPS.index(arm.group), arm.label, spec["seed"], landscape.epoch


def run_names(landscapes: Sequence["Landscape"]) -> list[str]:
    """What tells the runs of the page apart: pattern, then task, seed, epoch and digest as far as they differ."""
    titles = task_titles(landscapes)
    facts = [
        [
            arm_of(each.run_spec).label,
            titles[each.run_spec["task"]],
            f"seed {each.run_spec['seed']}",
            f"epoch {each.epoch}",
        ]
        for each in landscapes
    ]
    shown = [
        [fact for place, fact in enumerate(row) if place == 0 or len({other[place] for other in facts}) > 1]
        for row in facts
    ]
    names = [", ".join(row) for row in shown]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    return [
        f"{name}, {each.run[:8]}" if name in repeated else name
        for name, each in zip(names, landscapes, strict=True)
    ]


def task_titles(landscapes: Sequence["Landscape"]) -> dict[str, str]:
    """For every task, how it is shown."""
    tasks = {str(each.run_spec["task"]) for each in landscapes}
    return {task: task_title(task, tasks) for task in tasks}


def _title(landscape: "Landscape", name: str) -> str:
    return shortened(name.removesuffix(f", epoch {landscape.epoch}"), 38)


def _below(landscape: "Landscape") -> str:
    accuracy = landscape.train_accuracy
    return f"epoch {landscape.epoch}" + (
        "" if accuracy is None else f", training accuracy {percent(accuracy)}"
    )


SURFACE = Figure(
    "surface", "How does the loss look around the model?", surface_frame, _surface_panels, columns=3
)
CUTS = Figure("cuts", "The loss on straight lines through the model", cut_frame, _cut_panels)
SLOPES = Figure("slopes", "How steep is the loss?", slope_frame, _slope_panels)
