"""Which ratios (c1, c2) satisfy the published conditions, with the paper's measurements and the null model drawn in."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from semfocus.report.palette import HUES
from semfocus.report.scales import Linear, Logarithmic
from semfocus.report.svg import Drawing, Point, path
from semfocus.theory import c2_min_w, c2_min_x

DISPERSIONS = (2.0, 5.0, 10.0, 20.0, 50.0)
LOWEST, HIGHEST = 1e-12, 10.0
PANEL, LEFT, TOP, BOTTOM, GAP, FOOT = 440.0, 64.0, 84.0, 46.0, 74.0, 92.0
HEIGHT = TOP + PANEL + BOTTOM + FOOT
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_TASK_HUES = [
    HUES[group][0] for group in ("input-dependent", "input-agnostic", "sharper full attention", "control")
]


@dataclass(frozen=True)
class Mark:
    """A measured pair of ratios; `w` and `x` say whether its own condition holds, None where it has no say."""

    c1: float
    c2: float
    kind: str
    label: str
    tip: str
    w: bool | None = None
    x: bool | None = None
    exact: bool | None = None


def marks_of_table(columns: Sequence[Mapping[str, Any]]) -> list[Mark]:
    """The cells of the published table."""
    return [
        Mark(
            each["c1"],
            each["c2"],
            each["task"],
            str(each["quantile"]),
            f"{each['task']}, q = {each['quantile']}: c1 = {each['c1']:.3f}, c2 = {each['c2']:.2g}, "
            f"δ = {each['dispersion_full']:g}, LHS_W = {each['published']['lhs_w']:.3f}, LHS_X = {each['published']['lhs_x']:.3f}",
            each["published"]["w"],
            each["published"]["x"],
            each["exact"]["b"],
        )
        for each in columns
    ]


def regions_figure(marks: Sequence[Mark], beta: float = 1.0) -> Markup:
    """Two panels, W and X: above a line the condition holds for that dispersion of full attention."""
    width = LEFT + PANEL + GAP + PANEL + 28
    drawing = Drawing(
        width, HEIGHT, "Where the published conditions hold", "regions", xmlns="http://www.w3.org/2000/svg"
    )
    drawing.add("style", _style(_kinds(marks)))
    drawing.add("rect", css_class="paper", width=width, height=HEIGHT)
    drawing.add("text", "Where the published conditions hold", css_class="title", x=LEFT, y=30.0)
    drawing.add(
        "text",
        "Above a line top-k has the smaller published bound, for full attention of that dispersion δ. It compares two upper bounds.",
        css_class="soft",
        x=LEFT,
        y=50.0,
    )
    _panel(drawing, LEFT, "W: the score matrix", lambda d, c1: c2_min_w(d, c1), marks, "w")
    _panel(
        drawing,
        LEFT + PANEL + GAP,
        f"X: the input tokens (lines for key load β = {beta:g})",
        lambda d, c1: c2_min_x(d, c1, beta),
        marks,
        "x",
    )
    _legend(drawing, marks)
    return drawing.markup()


def _panel(
    drawing: Drawing,
    left: float,
    title: str,
    least: Callable[[float, np.ndarray], np.ndarray],
    marks: Sequence[Mark],
    which: str,
) -> None:
    x = Linear(0.0, 1.0, left, left + PANEL)
    y = Logarithmic(LOWEST, HIGHEST, TOP + PANEL, TOP)
    drawing.add("text", title, css_class="heading", x=left, y=TOP - 10)
    _axes(drawing, x, y)
    labels = []
    for dispersion in sorted(DISPERSIONS, reverse=True):
        ratios = np.linspace(0, 1, 401)
        lowest = least(dispersion, ratios)
        inside = [(c1, c2) for c1, c2 in zip(ratios, lowest, strict=True) if c2 <= HIGHEST]
        line = [(x(c1), y(max(float(c2), LOWEST))) for c1, c2 in inside]
        if not line:
            continue
        end = line[-1][0]
        drawing.add("path", css_class="region", d=path([*line, (end, y.end), (x.start, y.end)]) + "z")
        visible = [(x(c1), y(float(c2))) for c1, c2 in inside if c2 >= LOWEST]
        drawing.add("path", css_class="edge", d=path([*visible, (end, y.end)]), tip=f"δ = {dispersion:g}")
        start = visible[0]
        # clear of its own line, which may rise under the name
        under = [each[1] for each in visible if each[0] <= start[0] + 52 and start[0] == x.start]
        labels.append((f"δ = {dispersion:g}", start[0] + 6, min(under, default=start[1]) - 6))
    for text, at, height in labels:
        drawing.add("text", text, css_class="line-label", x=at, y=height)
    drawn: list[Point] = []
    for mark in marks:
        place = (x(mark.c1), y(min(max(mark.c2, LOWEST), HIGHEST)))
        crowded = any(math.dist(place, other) < 14 for other in drawn)
        _mark(drawing, place, mark, getattr(mark, which), crowded)
        drawn.append(place)


def _axes(drawing: Drawing, x: Linear, y: Logarithmic) -> None:
    for power in range(round(math.log10(LOWEST)), round(math.log10(HIGHEST)) + 1, 2):
        at = y(10.0**power)
        drawing.add("line", css_class="grid", x1=x.start, x2=x.end, y1=at, y2=at)
        label = "1" if power == 0 else f"10{str(power).translate(_SUPERSCRIPT)}"
        drawing.add("text", label, css_class="tick", x=x.start - 7, y=at + 4, text_anchor="end")
    for value in x.ticks(5):
        at = x(value)
        drawing.add("line", css_class="grid", x1=at, x2=at, y1=y.start, y2=y.end)
        drawing.add("text", f"{value:g}", css_class="tick", x=at, y=y.start + 17, text_anchor="middle")
    drawing.add(
        "text",
        "c1 = dispersion of top-k / dispersion of full",
        css_class="soft",
        x=(x.start + x.end) / 2,
        y=y.start + 36,
        text_anchor="middle",
    )
    middle = (y.start + y.end) / 2
    drawing.add(
        "text",
        "c2 = separation / dispersion of full",
        css_class="soft",
        text_anchor="middle",
        transform=f"translate({x.start - 48:.0f} {middle:.0f}) rotate(-90)",
    )


def _mark(drawing: Drawing, at: Point, mark: Mark, holds: bool | None, crowded: bool) -> None:
    x, y = at
    state = "null" if mark.kind == "null" else "holds" if holds else "fails"
    with drawing.group(css_class=f"mark {state} {_css_class(mark.kind)}"):
        if mark.kind == "null":
            drawing.add("path", d=f"M{x - 6:.1f} {y:.1f}h12M{x:.1f} {y - 6:.1f}v12", tip=mark.tip)
        elif mark.kind == "yours":
            drawing.add("path", d=f"M{x:.1f} {y - 9:.1f}l8 9l-8 9l-8 -9z", tip=mark.tip)
        else:
            drawing.add("circle", cx=x, cy=y, r=5.0, tip=mark.tip)
        side = {"x": x - 8, "text_anchor": "end"} if crowded else {"x": x + 8}
        drawing.add("text", mark.label, css_class="mark-label", y=y + 3.5, **side)


def _kinds(marks: Sequence[Mark]) -> list[str]:
    return list(dict.fromkeys(mark.kind for mark in marks if mark.kind not in ("null", "yours")))


def _css_class(kind: str) -> str:
    return "kind-" + "".join(each if each.isalnum() else "-" for each in kind)


def _legend(drawing: Drawing, marks: Sequence[Mark]) -> None:
    x, y = LEFT, TOP + PANEL + BOTTOM + 26
    for kind in _kinds(marks):
        with drawing.group(css_class=f"mark holds {_css_class(kind)}"):
            drawing.add("circle", cx=x + 5, cy=y - 4, r=5.0)
        drawing.add("text", kind, css_class="legend", x=x + 16, y=y)
        x += 34 + 7.2 * len(kind)
    if any(mark.kind == "null" for mark in marks):
        with drawing.group(css_class="mark null"):
            drawing.add("path", d=f"M{x:.1f} {y - 4:.1f}h12M{x + 6:.1f} {y - 10:.1f}v12")
        drawing.add("text", "independent Gaussian scores (k = 5, 75 %)", css_class="legend", x=x + 18, y=y)
        x += 325
    if any(mark.kind == "yours" for mark in marks):
        with drawing.group(css_class="mark holds kind-yours"):
            drawing.add("path", d=f"M{x + 6:.1f} {y - 11:.1f}l6 7l-6 7l-6 -7z")
        drawing.add("text", "these numbers", css_class="legend", x=x + 18, y=y)
    judged = [mark.exact for mark in marks if mark.kind not in ("null", "yours")]
    lines = (
        "Circles: the published measurements, with the quantile beside them; 100 is the only one over all queries.",
        "Filled: the condition holds at the point's own δ and β; hollow: it does not. "
        f"With exact constants (route B) it holds for {sum(map(bool, judged))} of these {len(judged)}.",
    )
    if judged:
        for at, line in enumerate(lines):
            drawing.add("text", line, css_class="soft", x=LEFT, y=y + 24 + 18 * at)


def _style(kinds: Sequence[str]) -> str:
    light = "".join(f".{_css_class(kind)}{{--ink:{_TASK_HUES[at % 4][0]}}}" for at, kind in enumerate(kinds))
    dark = "".join(f".{_css_class(kind)}{{--ink:{_TASK_HUES[at % 4][1]}}}" for at, kind in enumerate(kinds))
    return (
        ".regions{--paper:#fff;--text:#1b1f24;--soft:#5b6470;--grid:#e9ecf0;--region:#0068a8;"
        'font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}'
        ".regions text{fill:var(--text)}.paper{fill:var(--paper)}.title{font-size:20px;font-weight:650}"
        ".heading{font-size:14px;font-weight:600}.regions .soft,.regions .tick{fill:var(--soft);font-size:12.5px}.regions .tick{font-size:12px}"
        ".grid{stroke:var(--grid)}.region{fill:var(--region);fill-opacity:.085}"
        ".edge{fill:none;stroke:var(--region);stroke-opacity:.75;stroke-width:1.3}"
        ".line-label,.mark-label{font-size:11px;paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}"
        ".regions .line-label{fill:var(--region);font-weight:600;font-size:12px}.regions .mark-label{fill:var(--ink,var(--text))}"
        ".legend{font-size:13px}.mark{--ink:var(--text)}"
        ".mark circle,.mark path{stroke:var(--ink);stroke-width:1.8;fill:var(--paper)}.holds circle,.holds path{fill:var(--ink)}"
        f".null path{{stroke-width:2.4;fill:none}}.kind-yours{{--ink:#b3005e}}{light}"
        "@media screen and (prefers-color-scheme:dark){.regions{--paper:#12161b;--text:#e9edf1;--soft:#9ca8b5;--grid:#252d36;--region:#4db2f2}"
        f".kind-yours{{--ink:#ff7ab8}}{dark}}}"
    )


def regions_page(figure: Markup, sentences: Sequence[str]) -> str:
    """The figure on a page of its own, with what the given numbers say."""
    said = "".join(f"<li>{escape(each)}</li>" for each in sentences)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>Where the published conditions hold</title><style>body{margin:0;background:#fff;color:#1b1f24;"
        "font:16px/1.55 system-ui,sans-serif}main{max-width:1100px;margin:0 auto;padding:16px}svg{width:100%;height:auto}"
        "li{margin:.3em 0}@media screen and (prefers-color-scheme:dark){body{background:#12161b;color:#e9edf1}}</style>"
        f"<main>{figure}{f'<ul>{said}</ul>' if said else ''}</main></html>\n"
    )
