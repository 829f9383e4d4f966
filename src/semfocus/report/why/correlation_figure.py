"""Rank correlations with their intervals, one below the other, beside 0."""

from collections.abc import Sequence

from markupsafe import Markup

from semfocus.counts import count_of
from semfocus.report.scales import Linear
from semfocus.report.svg import Drawing
from semfocus.studies.mechanism_tests.yardsticks import Yardstick
from semfocus.studies.statistics.rank import RankCorrelation

_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 380.0, 156.0, 366.0, 40.0, 38.0


def correlation_figure(title: str, found: Sequence[Yardstick]) -> Markup:
    """Filled: all arms; open: without arms whose keys do not depend on the input."""
    height = _TOP + _ROW * len(found) + 34
    scale = Linear(-1.0, 1.0, _LEFT, _RIGHT)
    drawing = Drawing(_WIDTH, height, title, "scatter correlations")
    drawing.add("text", title, css_class="panel-title", x=12.0, y=13.0)
    bottom = height - 30
    for value in (-1.0, -0.5, 0.0, 0.5, 1.0):
        x = scale(value)
        drawing.add("line", css_class="one" if value == 0 else "grid", x1=x, x2=x, y1=_TOP - 10, y2=bottom)
        drawing.add(
            "text",
            f"{value:+g}" if value else "0",
            css_class="tick",
            x=x,
            y=bottom + 13,
            text_anchor="middle",
        )
    drawing.add("text", "\N{LEFTWARDS ARROW} more of it", css_class="side", x=_LEFT - 8, y=bottom + 27)
    drawing.add(
        "text",
        "less of it learns first \N{RIGHTWARDS ARROW}",
        css_class="side",
        x=_RIGHT,
        y=bottom + 27,
        text_anchor="end",
    )
    drawing.add("text", "filled: all arms; open: without fixed patterns", css_class="tick", x=12.0, y=27.0)
    for place, each in enumerate(found):
        y = _TOP + _ROW * place + 12
        for line, words in enumerate(_two_lines(each.words)):
            drawing.add(
                "text", words, css_class="row-label", x=_LEFT - 10, y=y + 13 * line - 2, text_anchor="end"
            )
        _interval(drawing, each.correlation, scale, y - 2, "point")
        _interval(drawing, each.choosing, scale, y + 10, "point open")
    return drawing.markup()


def _two_lines(words: str) -> list[str]:
    """Broken near the middle."""
    parts = words.split()
    best = min(
        range(1, len(parts)), key=lambda at: abs(len(" ".join(parts[:at])) - len(" ".join(parts[at:])))
    )
    return [" ".join(parts[:best]), " ".join(parts[best:])]


def _interval(drawing: Drawing, found: RankCorrelation, scale: Linear, y: float, css_class: str) -> None:
    if found.value is None:
        return
    if found.low is not None and found.high is not None:
        drawing.add("line", css_class="rail", x1=scale(found.low), x2=scale(found.high), y1=y, y2=y)
    tip = f"{found.value:+.2f}, {count_of(found.num_pairs, 'pair')} of known order"
    drawing.add("circle", css_class=css_class, cx=scale(found.value), cy=y, r=4.2, tip=tip)
