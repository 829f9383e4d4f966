"""Ratios of steps against full attention: a row for each arm with its interval, and a dot for each seed."""

import math
from collections.abc import Mapping

from markupsafe import Markup

from semfocus.report.palette import Ink
from semfocus.report.scales import Logarithmic
from semfocus.report.svg import Drawing
from semfocus.report.texts import shortened
from semfocus.report.value_axis import tick_text
from semfocus.trial.comparison import PairedRatio
from semfocus.trial.verdict import Verdict
from semfocus.trial.wording import interval

WIDTH, ROW, TOP, BOTTOM = 780.0, 40.0, 30.0, 34.0
_LEFT, _RIGHT = 200.0, 150.0
#: of two numbers below the axis
_APART = 30.0
_TICKS = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 0.85, 1, 1.2, 1.5, 2, 3, 5, 10, 20, 50)


def ratio_figure(verdicts: Mapping[str, Verdict], inks: Mapping[str, Ink]) -> Markup:
    """On a logarithmic axis: half the steps is as far from 1 as twice the steps."""
    axis = _axis(list(verdicts.values()))
    height = TOP + ROW * len(verdicts) + BOTTOM
    drawing = Drawing(
        WIDTH, height, "steps to the same loss, as a share of those of full attention", "forest"
    )
    foot = height - BOTTOM
    for value in _ticks(axis):
        x = axis(value)
        drawing.add("line", css_class="one" if value == 1 else "grid", x1=x, x2=x, y1=TOP - 8, y2=foot)
        drawing.add("text", tick_text(value), css_class="tick", x=x, y=foot + 15, text_anchor="middle")
    middle = axis(1.0)
    drawing.add("text", "fewer steps", css_class="side", x=middle - 8, y=TOP - 14, text_anchor="end")
    drawing.add("text", "more steps", css_class="side", x=middle + 8, y=TOP - 14)
    for place, (label, verdict) in enumerate(verdicts.items()):
        y = TOP + ROW * (place + 0.5)
        with drawing.group(css_class=f"arm {inks[label].css_class}", data_arm=inks[label].number):
            drawing.add("text", shortened(label, 28), css_class="row-label", x=0.0, y=y + 4)
            low, high = verdict.steps.low, verdict.steps.high
            if low is not None and high is not None:
                drawing.add("line", css_class="interval", x1=axis(low), x2=axis(high), y1=y, y2=y)
            for pair in _compared(verdict):
                drawing.add(
                    "circle",
                    css_class="dot",
                    cx=axis(pair.ratio),
                    cy=y + 9,
                    r=3.0,
                    tip=f"seed {pair.seed}: {pair.ratio:.2f}",
                )
            if _compared(verdict):
                x = axis(verdict.steps.value)
                drawing.add("rect", css_class="estimate", x=x - 4, y=y - 4, width=8.0, height=8.0)
            shown = interval(verdict.steps) if _compared(verdict) else "diverged"
            drawing.add("text", shown, css_class="row-value", x=WIDTH, y=y + 4, text_anchor="end")
    return drawing.markup()


def _compared(verdict: Verdict) -> list[PairedRatio]:
    return [pair for pair in verdict.pairs if not pair.diverged]


def _axis(verdicts: list[Verdict]) -> Logarithmic:
    values = [1.0]
    for verdict in verdicts:
        values += [pair.ratio for pair in _compared(verdict)]
        values += [each for each in (verdict.steps.low, verdict.steps.high) if each is not None]
    low, high = min(*values, 0.8), max(*values, 1.25)
    return Logarithmic(low / 1.08, high * 1.08, _LEFT, WIDTH - _RIGHT)


def _ticks(axis: Logarithmic) -> list[float]:
    """From 1 outwards, those whose numbers do not touch."""
    found: list[float] = []
    for value in sorted(_TICKS, key=lambda each: abs(math.log(each))):
        inside = axis.low <= value <= axis.high
        if inside and all(abs(axis(value) - axis(other)) >= _APART for other in found):
            found.append(value)
    return sorted(found)
