"""Attention weights of one layer and head for one sequence: queries down, keys across, kept keys outlined."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from semfocus.report.svg import Drawing
from semfocus.report.texts import shortened

WIDTH = 380.0
_LEFT, _TOP, _EDGE = 26.0, 34.0, 4.0
#: of darkness; it grows with the square root of the weight, or an even spread over many keys would not be seen
_LEVELS = 14
#: more positions than this, and their texts would be too small to read
_MOST_TEXTS = 48


def map_figure(title: str, one: Mapping[str, Any], maps: Mapping[str, Any], css_class: str = "") -> Markup:
    """`one` of the maps that studies/attention_maps.py made of a sequence; cells may stand for blocks of positions."""
    weights: Sequence[Sequence[float]] = one["weights"]
    size = len(weights)
    cell = (WIDTH - _LEFT - _EDGE) / size
    drawing = Drawing(WIDTH, _TOP + WIDTH - _LEFT, title, f"map {css_class}")
    drawing.add("text", shortened(title, 44), css_class="panel-title", x=_LEFT, y=11.0)
    side = size * cell
    drawing.add("rect", css_class="paper", x=_LEFT, y=_TOP, width=side, height=side)
    with drawing.group(transform=f"translate({_LEFT} {_TOP}) scale({cell:.4f})"):
        for level, cells in sorted(_levels(weights).items()):
            low, high = ((each / _LEVELS) ** 2 for each in (level - 1, level))
            drawing.add(
                "path",
                css_class="weight",
                d="".join(cells),
                fill_opacity=f"{level / _LEVELS:.2f}",
                tip=f"weights of {low:.2g} to {high:.2g}",
            )
        if one.get("kept"):
            drawing.add("path", css_class="kept", d=_outline(one["kept"]))
    drawing.add("rect", css_class="frame", x=_LEFT, y=_TOP, width=side, height=side)
    _positions(drawing, maps, cell, size)
    return drawing.markup()


def weight_legend() -> Markup:
    """The scale of the colours."""
    width, left, right = 300.0, 8.0, 292.0
    drawing = Drawing(width, 38.0, "colours of the weights", "weights-bar")
    drawing.add("rect", css_class="paper", x=left, y=3.0, width=right - left, height=12.0)
    for level in range(1, _LEVELS + 1):
        drawing.add(
            "rect",
            css_class="weight",
            x=left + (right - left) * (level - 1) / _LEVELS,
            y=3.0,
            width=(right - left) / _LEVELS,
            height=12.0,
            fill_opacity=f"{level / _LEVELS:.2f}",
        )
    drawing.add("rect", css_class="frame", x=left, y=3.0, width=right - left, height=12.0)
    for weight in (0.0, 0.02, 0.1, 0.25, 0.5, 1.0):
        at = left + (right - left) * math.sqrt(weight)
        drawing.add("line", css_class="axis", x1=at, x2=at, y1=15.0, y2=19.0)
        drawing.add("text", f"{weight:g}", css_class="tick", x=at, y=31.0, text_anchor="middle")
    return drawing.markup()


def _levels(weights: Sequence[Sequence[float]]) -> dict[int, list[str]]:
    """Cells of equal darkness, runs of them joined; what has no weight is left out."""
    found: dict[int, list[str]] = {}
    for y, row in enumerate(weights):
        levels = [min(_LEVELS, math.ceil(math.sqrt(max(0.0, value)) * _LEVELS)) for value in row]
        x = 0
        while x < len(levels):
            end = x
            while end < len(levels) and levels[end] == levels[x]:
                end += 1
            if levels[x]:
                found.setdefault(levels[x], []).append(f"M{x} {y}h{end - x}v1h{x - end}z")
            x = end
    return found


def _outline(kept: Sequence[Sequence[int]]) -> str:
    """The lines between kept and other cells."""
    size = len(kept)

    def at(y: int, x: int) -> bool:
        return 0 <= y < size and 0 <= x < size and bool(kept[y][x])

    lines = []
    for y in range(size + 1):
        lines += [f"M{x} {y}h1" for x in range(size) if at(y - 1, x) != at(y, x)]
    for x in range(size + 1):
        lines += [f"M{x} {y}v1" for y in range(size) if at(y, x - 1) != at(y, x)]
    return "".join(lines)


def _positions(drawing: Drawing, maps: Mapping[str, Any], cell: float, size: int) -> None:
    """What stands at each position, on both sides, and a mark at the tokens that decide the label."""
    block, symbols = maps["block"], maps["symbols"]
    relevant = maps["relevant"] or [False] * len(symbols)
    for place in range(size):
        here = slice(place * block, (place + 1) * block)
        marked = any(relevant[here])
        at = (place + 0.5) * cell
        css_class = "token relevant" if marked else "token"
        if marked:
            drawing.add(
                "rect", css_class="decides", x=_LEFT + place * cell, y=_TOP - 4, width=cell, height=3.0
            )
            drawing.add(
                "rect", css_class="decides", x=_LEFT - 4, y=_TOP + place * cell, width=3.0, height=cell
            )
        if size <= _MOST_TEXTS and block == 1:
            text, font = shortened(symbols[place], 4), f"{min(10.0, max(5.0, 0.95 * cell)):.1f}px"
            drawing.add(
                "text",
                text,
                css_class=css_class,
                x=_LEFT + at,
                y=_TOP - 6,
                text_anchor="middle",
                font_size=font,
            )
            drawing.add(
                "text",
                text,
                css_class=css_class,
                x=_LEFT - 6,
                y=_TOP + at + 0.32 * cell,
                text_anchor="end",
                font_size=font,
            )
        elif place % max(1, size // 8) == 0:
            drawing.add(
                "text", place * block + 1, css_class="tick", x=_LEFT + at, y=_TOP - 7, text_anchor="middle"
            )
            drawing.add(
                "text", place * block + 1, css_class="tick", x=_LEFT - 6, y=_TOP + at + 4, text_anchor="end"
            )
