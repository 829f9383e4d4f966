"""A loss surface from above: a heat map with lines of equal loss, and the legend of its colours."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from semfocus.report.colour_ramp import ColourRamp, colour
from semfocus.report.contours import contour_segments
from semfocus.report.scales import Linear
from semfocus.report.svg import Drawing, number

if TYPE_CHECKING:
    from semfocus.studies.landscape.result import Grid

WIDTH, HEIGHT = 340.0, 354.0
LEFT, RIGHT, TOP, BOTTOM = 38.0, 8.0, 40.0, 34.0
#: shades that an eye can still tell apart; equal neighbours become one shape
_SHADES = 96


def landscape_map(title: str, below: str, grid: "Grid", ramp: ColourRamp) -> Markup:
    """The map of one grid, with a second line below its title; cells without a finite loss are grey."""
    drawing = Drawing(
        WIDTH, HEIGHT, f"loss around {title}, pair {grid.pair + 1}", "panel map", data_pair=grid.pair
    )
    radius = grid.axis[-1]
    step = grid.axis[1] - grid.axis[0]
    x = Linear(-radius - step / 2, radius + step / 2, LEFT, WIDTH - RIGHT)
    y = Linear(-radius - step / 2, radius + step / 2, HEIGHT - BOTTOM, TOP)
    drawing.add("text", title, css_class="panel-title", x=LEFT, y=14.0)
    drawing.add("text", below, css_class="tick", x=LEFT, y=30.0)
    _cells(drawing, grid, ramp, x, y)
    for level in ramp.ticks():
        pieces = contour_segments(grid.losses, level)
        if pieces:
            d = "".join(_line(a, b, grid.axis[0], step, x, y) for a, b in pieces)
            light = ramp.share(level) < 0.55
            drawing.add(
                "path", css_class=f"contour {'on-dark' if light else 'on-light'}", d=d, tip=f"loss {level:g}"
            )
    for reach in (5.0, 3.6):  # a dark cross under a light one is seen on every colour
        d = f"M{x(0) - reach} {y(0)}h{2 * reach}M{x(0)} {y(0) - reach}v{2 * reach}"
        drawing.add("path", css_class="cross under" if reach > 4 else "cross", d=d)
    _axes(drawing, radius, x, y)
    return drawing.markup()


def _cells(drawing: Drawing, grid: "Grid", ramp: ColourRamp, x: Linear, y: Linear) -> None:
    """One path a shade, made of runs along the rows."""
    num = len(grid.axis)
    width, height = (x.end - x.start) / num, (y.start - y.end) / num
    shades = np.full(grid.losses.shape, -1)
    for place, value in np.ndenumerate(grid.losses):
        if np.isfinite(value):
            shades[place] = round(ramp.share(float(value)) * (_SHADES - 1))
    pieces: dict[int, list[str]] = {}
    for row in range(num):
        top = y.start - (row + 1) * height
        starts = [0, *(np.flatnonzero(np.diff(shades[row])) + 1).tolist(), num]
        for start, end in pairwise(starts):
            # A hair too large, so that no background shows between cells.
            box = f"M{x.start + start * width:.1f} {top:.1f}h{(end - start) * width + 0.4:.1f}v{height + 0.4:.1f}"
            pieces.setdefault(int(shades[row, start]), []).append(f"{box}H{x.start + start * width:.1f}z")
    with drawing.group(css_class="cells"):
        for shade in sorted(pieces, reverse=True):
            d = "".join(pieces[shade])
            if shade < 0:
                drawing.add("path", css_class="not-finite", d=d, tip="the loss is not finite here")
            else:
                drawing.add("path", fill=colour(shade / (_SHADES - 1)), d=d)


def _line(
    a: tuple[float, float], b: tuple[float, float], first: float, step: float, x: Linear, y: Linear
) -> str:
    (ax, ay), (bx, by) = ((x(first + step * column), y(first + step * row)) for column, row in (a, b))
    return f"M{ax:.1f} {ay:.1f}L{bx:.1f} {by:.1f}"


def _axes(drawing: Drawing, radius: float, x: Linear, y: Linear) -> None:
    for value in Linear(-radius, radius, 0, 1).ticks(4):
        drawing.add("text", f"{value:g}", css_class="tick", x=x(value), y=y.start + 14, text_anchor="middle")
        drawing.add(
            "text", f"{value:g}", css_class="tick", x=x.start - 5, y=y(value) + 3.6, text_anchor="end"
        )
    middle = (x.start + x.end) / 2
    drawing.add(
        "text", "x, along direction 1", css_class="tick", x=middle, y=HEIGHT - 5, text_anchor="middle"
    )
    turned = f"rotate(-90 10 {number((y.start + y.end) / 2)})"
    drawing.add(
        "text",
        "y, along direction 2",
        css_class="tick",
        x=10.0,
        y=(y.start + y.end) / 2,
        text_anchor="middle",
        transform=turned,
    )


def colour_legend(ramp: ColourRamp, ticks: Sequence[float]) -> Markup:
    """The scale as a bar with the values of the contour lines."""
    width, height, shades = 420.0, 40.0, 84
    drawing = Drawing(width, height, "colours of the loss", "legend-bar")
    left, right = 24.0, width - 24.0
    for shade in range(shades):
        at = left + (right - left) * shade / shades
        fill = colour(shade / (shades - 1))
        drawing.add("rect", x=at, y=4.0, width=(right - left) / shades + 0.5, height=13.0, fill=fill)
    for value in ticks:
        at = left + (right - left) * ramp.share(value)
        drawing.add("line", css_class="axis", x1=at, x2=at, y1=17.0, y2=21.0)
        drawing.add("text", f"{value:g}", css_class="tick", x=at, y=33.0, text_anchor="middle")
    return drawing.markup()
