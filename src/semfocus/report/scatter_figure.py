"""One quantity against another: a dot a run or a task, in the colour of its arm; where only a bound is known, an open one that points."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from semfocus.report.scales import Linear, Logarithmic
from semfocus.report.svg import Drawing, number
from semfocus.report.texts import shortened
from semfocus.report.value_axis import tick_text, value_axis

WIDTH, HEIGHT = 380.0, 262.0
_TOP, _BOTTOM, _LEFT, _RIGHT = 26.0, 38.0, 46.0, 12.0


@dataclass(frozen=True)
class Dot:
    """`arm`: the number of its ink; `beyond`: 1 if the true value lies above, -1 if below; `name` is written beside it."""

    x: float
    y: float
    css_class: str
    arm: int
    tip: str
    beyond: int = 0
    name: str = ""


@dataclass(frozen=True)
class Axis:
    """What stands beside an axis, how it is divided, and a value that means something.

    Without `logarithmic` it begins at 0, unless it is `zoomed` to the values that there are.
    """

    title: str
    logarithmic: bool = False
    mark: float | None = None
    mark_label: str = ""
    zoomed: bool = False


def scatter_figure(title: str, dots: Sequence[Dot], across: Axis, upwards: Axis) -> Markup | None:
    """None without dots; on a logarithmic axis what is not above 0 has no place and is left out."""
    there = [
        dot
        for dot in dots
        if (dot.x > 0 or not across.logarithmic) and (dot.y > 0 or not upwards.logarithmic)
    ]
    if not there:
        return None
    x = _scale(across, [dot.x for dot in there], _LEFT, WIDTH - _RIGHT)
    y = _scale(upwards, [dot.y for dot in there], HEIGHT - _BOTTOM, _TOP)
    drawing = Drawing(WIDTH, HEIGHT, title, "scatter")
    drawing.add("text", title, css_class="panel-title", x=_LEFT - 34, y=13.0)
    _frame(drawing, x, y, across, upwards)
    for dot in there:
        with drawing.group(css_class=f"arm {dot.css_class}", data_arm=dot.arm):
            _draw(drawing, dot, x(dot.x), y(dot.y))
    return drawing.markup()


def _scale(axis: Axis, values: Sequence[float], start: float, end: float) -> Linear | Logarithmic:
    shown = [*values, *([] if axis.mark is None else [axis.mark])]
    if axis.logarithmic:
        return Logarithmic(min(shown) / 1.3, max(shown) * 1.3, start, end)
    if axis.zoomed:
        room = 0.06 * (max(shown) - min(shown)) or 0.01
        return Linear(min(shown) - room, max(shown) + room, start, end)
    return value_axis(shown, start, end)


def _frame(
    drawing: Drawing, x: Linear | Logarithmic, y: Linear | Logarithmic, across: Axis, upwards: Axis
) -> None:
    for value in y.ticks(8 if isinstance(y, Logarithmic) else 5):
        place = y(value)
        drawing.add("line", css_class="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=place, y2=place)
        drawing.add("text", tick_text(value), css_class="tick", x=_LEFT - 5, y=place + 3.6, text_anchor="end")
    bottom = HEIGHT - _BOTTOM
    for value in x.ticks(8 if isinstance(x, Logarithmic) else 6):
        place = x(value)
        drawing.add("line", css_class="axis", x1=place, x2=place, y1=bottom, y2=bottom + 4)
        drawing.add("text", tick_text(value), css_class="tick", x=place, y=bottom + 15, text_anchor="middle")
    drawing.add("line", css_class="axis", x1=_LEFT, x2=WIDTH - _RIGHT, y1=bottom, y2=bottom)
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    drawing.add("text", across.title, css_class="tick", x=middle, y=HEIGHT - 5, text_anchor="middle")
    drawing.add("text", upwards.title, css_class="tick", x=WIDTH - _RIGHT, y=13.0, text_anchor="end")
    if across.mark is not None:
        at = x(across.mark)
        drawing.add("line", css_class="target", x1=at, x2=at, y1=_TOP, y2=bottom)
        drawing.add("text", across.mark_label, css_class="target-label", x=at + 3, y=_TOP + 8)
    if upwards.mark is not None:
        at = y(upwards.mark)
        drawing.add("line", css_class="target", x1=_LEFT, x2=WIDTH - _RIGHT, y1=at, y2=at)
        drawing.add("text", upwards.mark_label, css_class="target-label", x=_LEFT + 3, y=at - 3)


def _draw(drawing: Drawing, dot: Dot, x: float, y: float) -> None:
    if dot.beyond:
        shape = f"M{number(x)} {number(y - 6.0 * dot.beyond)}l-4.5 {7 * dot.beyond}h9z"
        drawing.add("path", css_class="point open", d=shape, tip=dot.tip)
    else:
        drawing.add("circle", css_class="point", cx=x, cy=y, r=4.0, tip=dot.tip)
    if dot.name:
        end = x > WIDTH - 110
        drawing.add(
            "text",
            shortened(dot.name, 20),
            css_class="end-label",
            x=x - 7 if end else x + 7,
            y=y + 3.5,
            text_anchor="end" if end else None,
        )
