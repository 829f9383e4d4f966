"""Speedups as a forest plot: one row a comparison, its interval, every seed as a dot, on a logarithmic axis around 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markupsafe import Markup

from semfocus.report.scales import Logarithmic
from semfocus.report.svg import Drawing, number
from semfocus.report.texts import shortened
from semfocus.studies.tables import speedup_text
from semfocus.studies.wording import times

if TYPE_CHECKING:
    from semfocus.studies.statistics.speedup import Pair, Speedup


@dataclass(frozen=True)
class Heading:
    """A line of its own: a group of arms (large) or an arm (small, in its colour)."""

    text: str
    css_class: str = ""


@dataclass(frozen=True)
class Row:
    """One comparison with the baseline; `ink` is the class that carries the arm's colour."""

    label: str
    ink: str
    speedup: "Speedup | None"
    missing: str = "no pair of seeds yet"


@dataclass(frozen=True)
class _Layout:
    width: float
    left: float  # where the plot begins
    right: float  # where it ends
    row: float  # height of a row
    two_lines: bool  # the label and the numbers above the row instead of beside it


#: a figure taller than this has its ticks at the top as well
_ONE_SCREEN = 600

WIDE = _Layout(1000, 218, 800, 21, False)
NARROW = _Layout(380, 12, 368, 38, True)


def forest_figures(title: str, lines: Sequence[Heading | Row]) -> Markup:
    """The figure twice, for wide and for narrow screens; the style sheet shows one of them."""
    return _forest(title, lines, WIDE, "forest wide") + _forest(title, lines, NARROW, "forest narrow")


def axis_range(speedups: Sequence["Speedup"]) -> tuple[float, float]:
    """From below the smallest to above the largest estimate and seed, with 1 inside.

    Intervals widen the axis by a factor of 3 at most and end in an arrow beyond it: one that says next to nothing must
    not squeeze all others.
    """
    seen = [1 / 1.6, 1.6]
    for speedup in speedups:
        seen += [speedup.ratio] if speedup.ratio else []
        seen += [each for pair in speedup.pairs for each in _known(pair)]
    limits = [limit for speedup in speedups for limit in (speedup.low, speedup.high) if limit]
    low, high = min(seen), max(seen)
    return max(min([low, *limits]), low / 3) / 1.15, min(max([high, *limits]), high * 3) * 1.15


def _forest(title: str, lines: Sequence[Heading | Row], layout: _Layout, css_class: str) -> Markup:
    heights = [_height(line, layout) for line in lines]
    tall = sum(heights) > _ONE_SCREEN
    head = 40.0 if tall else 26.0
    height = head + sum(heights) + 34
    low, high = axis_range([line.speedup for line in lines if isinstance(line, Row) and line.speedup])
    scale = Logarithmic(low, high, layout.left + 8, layout.right - 8)
    drawing = Drawing(layout.width, height, title, css_class)
    bottom = height - 32
    for value in scale.ticks(9 if not layout.two_lines else 6):
        x = scale(value)
        drawing.add("line", css_class="one" if value == 1 else "grid", x1=x, x2=x, y1=head - 4, y2=bottom)
        for y in (head - 9, bottom + 14) if tall else (bottom + 14,):
            drawing.add("text", f"{value:g}x", css_class="tick", x=x, y=y, text_anchor="middle")
    one = scale(1)
    drawing.add("text", "slower ←", css_class="side", x=one - 8, y=14.0, text_anchor="end")
    drawing.add("text", "→ faster than full", css_class="side", x=one + 8, y=14.0)
    top = head
    for line, line_height in zip(lines, heights, strict=True):
        if isinstance(line, Heading):
            _heading(drawing, line, top + line_height - 6)
        else:
            _row(drawing, line, top, layout, scale)
        top += line_height
    return drawing.markup()


def _height(line: Heading | Row, layout: _Layout) -> float:
    if isinstance(line, Row):
        return layout.row
    return 34.0 if line.css_class == "group" else 24.0


def _heading(drawing: Drawing, line: Heading, y: float) -> None:
    drawing.add(
        "text", shortened(line.text, 44), tip=line.text, css_class=f"heading {line.css_class}", x=2.0, y=y
    )


def _row(drawing: Drawing, line: Row, top: float, layout: _Layout, scale: Logarithmic) -> None:
    speedup = line.speedup
    text = line.missing if speedup is None else speedup_text(speedup)
    y = top + (26 if layout.two_lines else layout.row / 2)
    text_y = top + 13 if layout.two_lines else y + 4
    text_x, anchor = (layout.width - 2, "end") if layout.two_lines else (layout.right + 10, "start")
    with drawing.group(css_class=f"row {line.ink}"):
        most = 26 if layout.two_lines else 32
        drawing.add(
            "text", shortened(line.label, most), tip=line.label, css_class="row-label", x=14.0, y=text_y
        )
        drawing.add("text", text, css_class="row-value", x=text_x, y=text_y, text_anchor=anchor)
        if speedup is None:
            return
        _interval(drawing, speedup, y, scale)
        for pair in speedup.pairs:
            _seed(drawing, pair, y, scale)
        _estimate(drawing, speedup, y, scale, f"{line.label}: {text}")


def _interval(drawing: Drawing, speedup: "Speedup", y: float, scale: Logarithmic) -> None:
    if speedup.low is None and speedup.high is None:
        return
    left = scale.start if speedup.low is None else scale(speedup.low)
    right = scale.end if speedup.high is None else scale(speedup.high)
    drawing.add("line", css_class="interval", x1=left, x2=right, y1=y, y2=y)
    if speedup.high is None or speedup.high > scale.high:
        drawing.add("path", css_class="arrow", d=_arrow(right, y, 1))
    if speedup.low is None or speedup.low < scale.low:
        drawing.add("path", css_class="arrow", d=_arrow(left, y, -1))


def _arrow(x: float, y: float, direction: int) -> str:
    return f"M{number(x + 6.0 * direction)} {number(y)}l{-7 * direction} -4v8z"


def _estimate(drawing: Drawing, speedup: "Speedup", y: float, scale: Logarithmic, tip: str) -> None:
    if speedup.ratio is None:
        return
    x = scale(speedup.ratio)
    if speedup.at_least or speedup.at_most:  # a triangle that points to where the truth lies
        direction = 1 if speedup.at_least else -1
        shape = f"M{number(x + 7.0 * direction)} {number(y)}l{-10 * direction} -5.5v11z"
        drawing.add("path", css_class="estimate", d=shape, tip=tip)
    else:
        drawing.add("rect", css_class="estimate", x=x - 4.5, y=y - 4.5, width=9.0, height=9.0, tip=tip)


def _known(pair: "Pair") -> list[float]:
    """What is known of one seed's ratio: it lies between 0 and infinity when nothing is."""
    return [each for each in (pair.ratio_low, pair.ratio_high) if 0 < each < math.inf]


def _seed(drawing: Drawing, pair: "Pair", y: float, scale: Logarithmic) -> None:
    """A dot; a seed of which only a bound is known is an open dot at that bound."""
    known = _known(pair)
    if not known:
        return
    if pair.ratio_low == pair.ratio_high:
        what, css_class = times(known[0]), "dot"
    elif len(known) == 2:
        what, css_class = f"between {times(known[0])} and {times(known[1])}", "dot open"
    else:
        what, css_class = f"at {'least' if pair.ratio_low > 0 else 'most'} {times(known[0])}", "dot open"
    tip = f"seed {pair.seed}: {what}"
    drawing.add("circle", css_class=css_class, cx=scale(known[0]), cy=y + 5.0, r=2.4, tip=tip)
