"""The left-hand sides of all tasks beside 1: four quantiles of each source on a line."""

import math
from collections.abc import Sequence

from markupsafe import Markup

from semfocus.report.scales import Logarithmic
from semfocus.report.svg import Drawing, number
from semfocus.report.texts import shortened
from semfocus.report.value_axis import tick_text
from semfocus.studies.mechanism_tests.dispersion_table import OWN, PUBLISHED, SAME_SCORES, TableRow

_WIDTH, _LEFT, _RIGHT, _TOP = 760.0, 150.0, 740.0, 44.0
_LINE = 15.0
#: what is farther out stands at the edge, as an arrow
_LOWEST, _HIGHEST = 0.2, 50.0
_CLASSES = {OWN: "source-own", SAME_SCORES: "source-same", PUBLISHED: "source-published"}


def bounds_figure(title: str, rows: Sequence[TableRow]) -> Markup | None:
    """A group of lines for each task; dots grow from 75 to 100 %."""
    there = [row for row in rows if row.columns]
    values = [v for row in there for v in _values(row) if v is not None and math.isfinite(v) and v > 0]
    if not values:
        return None
    scale = Logarithmic(
        max(_LOWEST, min([0.5, *values]) / 1.2), min(_HIGHEST, max([2.0, *values]) * 1.2), _LEFT, _RIGHT
    )
    tasks = list(dict.fromkeys(row.task for row in there))
    height = _TOP + _LINE * len(there) + 10 * len(tasks) + 34
    drawing = Drawing(_WIDTH, height, title, "bounds")
    _legend(drawing, list(dict.fromkeys(row.source for row in there)))
    _axis(drawing, scale, height - 30)
    y = _TOP + 6
    for task in tasks:
        own = [row for row in there if row.task == task]
        drawing.add(
            "text",
            shortened(task, 22),
            css_class="row-label",
            x=_LEFT - 12,
            y=y + _LINE * len(own) / 2 + 1,
            text_anchor="end",
        )
        for row in own:
            _row(drawing, row, scale, y)
            y += _LINE
        y += 10
    return drawing.markup()


def _values(row: TableRow) -> list[float | None]:
    return [column["published"]["lhs_w"] for column in row.columns]


def _legend(drawing: Drawing, sources: Sequence[str]) -> None:
    x = _LEFT
    for source in sources:
        with drawing.group(css_class=_CLASSES[source]):
            drawing.add("line", css_class="rail", x1=x, x2=x + 22, y1=12.0, y2=12.0)
            drawing.add("circle", css_class="spot", cx=x + 11, cy=12.0, r=4.0)
        drawing.add("text", source, css_class="tick", x=x + 28, y=16.0)
        x += 46 + 7 * len(source)
    drawing.add(
        "text", "small to large dot: 75, 90, 95, 100 %", css_class="tick", x=_RIGHT, y=16.0, text_anchor="end"
    )


def _axis(drawing: Drawing, scale: Logarithmic, bottom: float) -> None:
    for value in scale.ticks(9):
        x = scale(value)
        drawing.add("line", css_class="one" if value == 1 else "grid", x1=x, x2=x, y1=_TOP - 8, y2=bottom)
        drawing.add("text", tick_text(value), css_class="tick", x=x, y=bottom + 14, text_anchor="middle")
    one = scale(1.0)
    drawing.add(
        "text",
        "\N{LEFTWARDS ARROW} top-k's bound is smaller",
        css_class="side",
        x=one - 6,
        y=_TOP - 12,
        text_anchor="end",
    )
    drawing.add(
        "text", "full's bound is smaller \N{RIGHTWARDS ARROW}", css_class="side", x=one + 6, y=_TOP - 12
    )
    drawing.add(
        "text",
        "left-hand side of the published condition in W",
        css_class="tick",
        x=(_LEFT + _RIGHT) / 2,
        y=bottom + 28,
        text_anchor="middle",
    )


def _row(drawing: Drawing, row: TableRow, scale: Logarithmic, y: float) -> None:
    middle = y + _LINE / 2
    placed = [
        (scale(max(value, scale.low)) if math.isfinite(value) else scale.end, value, column["quantile"])
        for column, value in zip(row.columns, _values(row), strict=True)
        if value is not None
    ]
    with drawing.group(css_class=_CLASSES[row.source]):
        ends = [x for x, *_ in placed]
        drawing.add("line", css_class="rail", x1=min(ends), x2=max(ends), y1=middle, y2=middle)
        for place, (x, value, quantile) in enumerate(placed):
            tip = f"{row.task}, {row.source}, {quantile} %: {value:.3g}"
            if value > scale.high:
                drawing.add(
                    "path", css_class="spot", d=f"M{number(x + 8)} {number(middle)}l-9 -5v10z", tip=tip
                )
            else:
                drawing.add("circle", css_class="spot", cx=x, cy=middle, r=2.4 + 1.0 * place, tip=tip)
