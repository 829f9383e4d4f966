"""Lipschitz estimates over the radius: one panel a quantile, one line a run and pair of directions."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from markupsafe import Markup

from semfocus.report.palette import Ink
from semfocus.report.scales import Linear, Logarithmic
from semfocus.report.svg import Drawing, Point, path

if TYPE_CHECKING:
    from semfocus.studies.landscape.result import Landscape

Unit = Literal["grid", "distance"]
WIDTH, HEIGHT = 270.0, 220.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 10.0, 24.0, 34.0


def lipschitz_panels(
    landscapes: Sequence["Landscape"], labels: Sequence[str], inks: Mapping[str, Ink], unit: Unit
) -> list[Markup]:
    """A panel for each quantile, on common axes; none if no estimate exists."""
    estimates = [each for landscape in landscapes for grid in landscape.grids for each in grid.lipschitz]
    values = [value for each in estimates for value in getattr(each, unit).values() if value]
    if not values:
        return []
    y = _vertical(min(values), max(values))
    x = Linear(0, max(each.radius for each in estimates), LEFT, WIDTH - RIGHT)
    return [_panel(quantile, landscapes, labels, inks, unit, x, y) for quantile in estimates[0].grid]


def _vertical(low: float, high: float) -> Logarithmic | Linear:
    if high / low < 3:
        return Linear(0, high * 1.05, HEIGHT - BOTTOM, TOP)
    return Logarithmic(low / 1.15, high * 1.15, HEIGHT - BOTTOM, TOP)


def _panel(
    quantile: int,
    landscapes: Sequence["Landscape"],
    labels: Sequence[str],
    inks: Mapping[str, Ink],
    unit: Unit,
    x: Linear,
    y: Logarithmic | Linear,
) -> Markup:
    title = f"{quantile} % quantile" if quantile != 50 else "median"
    drawing = Drawing(WIDTH, HEIGHT, f"Lipschitz estimate over the radius, {title}", "panel slopes")
    drawing.add("text", title, css_class="panel-title", x=LEFT - 30, y=13.0)
    _axes(drawing, x, y)
    for landscape, label in zip(landscapes, labels, strict=True):
        for grid in landscape.grids:
            points: list[Point | None] = []
            for each in grid.lipschitz:
                value = getattr(each, unit)[quantile]
                points.append((x(each.radius), y(value)) if value and math.isfinite(value) else None)
            css_class = f"arm {inks[label].css_class}"
            with drawing.group(css_class=css_class):
                drawing.add(
                    "path", css_class="median slope", d=path(points), tip=f"{label}, pair {grid.pair + 1}"
                )
    return drawing.markup()


def _axes(drawing: Drawing, x: Linear, y: Logarithmic | Linear) -> None:
    for value in y.ticks(7):
        at = y(value)
        drawing.add("line", css_class="grid", x1=x.start, x2=x.end, y1=at, y2=at)
        drawing.add("text", f"{value:g}", css_class="tick", x=LEFT - 5, y=at + 3.6, text_anchor="end")
    drawing.add("line", css_class="axis", x1=x.start, x2=x.end, y1=y.start, y2=y.start)
    for value in x.ticks(5):
        drawing.add("line", css_class="axis", x1=x(value), x2=x(value), y1=y.start, y2=y.start + 4)
        drawing.add("text", f"{value:g}", css_class="tick", x=x(value), y=y.start + 15, text_anchor="middle")
    middle = (x.start + x.end) / 2
    drawing.add("text", "radius r", css_class="tick", x=middle, y=HEIGHT - 4, text_anchor="middle")
