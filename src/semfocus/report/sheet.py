"""Several figures of the page with their legend as one SVG file that needs nothing else."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from semfocus.report.palette import Ink
from semfocus.report.svg import Drawing
from semfocus.report.templating import figure_style
from semfocus.report.texts import shortened

WIDTH, MARGIN, GAP = 1120.0, 16.0, 20.0
_TITLE, _LEGEND_ROW = 30.0, 20.0
#: of a letter of the legend, about
_LETTER, _SWATCH = 6.4, 44.0
_LONGEST_LABEL = 40
_DRAWING = re.compile(
    r'<svg viewBox="0 0 ([\d.]+) ([\d.]+)" role="img" class="([^"]*)"[^>]*>(.*)</svg>', re.DOTALL
)
#: what a page shows only while it is pointed at
_ON_TOUCH = re.compile(r'<path class="seed"[^>]*>(?:<title>[^<]*</title>)?</path>')


def sheet(
    title: str,
    figures: Sequence[Markup],
    legend: Sequence[tuple[str, Ink]],
    inks: Iterable[Ink],
    columns: int | None = None,
) -> str:
    """The figures side by side on white paper, the title above, every arm of `legend` below it."""
    columns = columns or {1: 1, 2: 2, 4: 2}.get(len(figures), 3)
    width = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns
    places, top = _legend_places(legend)
    placed = []
    for start in range(0, len(figures), columns):
        row = [_scaled(figure, width) for figure in figures[start : start + columns]]
        placed += [(MARGIN + at * (width + GAP), top, figure) for at, figure in enumerate(row)]
        top += max(figure.height for figure in row) + GAP
    drawing = Drawing(
        WIDTH,
        top,
        title,
        "sheet",
        xmlns="http://www.w3.org/2000/svg",
        data_theme="light",
    )
    drawing.add("style", f"svg{{font-family:system-ui,'Liberation Sans',sans-serif}}{figure_style(inks)}")
    drawing.add("rect", width=WIDTH, height=top, fill="#fff")
    drawing.add("text", title, x=MARGIN, y=22.0, font_size=16, font_weight=600)
    for (label, ink), (x, y) in zip(legend, places, strict=True):
        with drawing.group(css_class=ink.css_class):
            drawing.add("path", css_class="median", d=f"M{x} {y - 4}h26")
            drawing.add("circle", css_class="point", cx=x + 13, cy=y - 4, r=3.5)
            drawing.add("text", shortened(label, _LONGEST_LABEL), x=x + 32, y=y, font_size=12)
    for x, y, figure in placed:
        with drawing.group(
            css_class=figure.css_class, transform=f"translate({x:.1f} {y:.1f}) scale({figure.scale:.4f})"
        ):
            drawing.insert(figure.inside)
    return str(drawing.markup())


def _legend_places(legend: Sequence[tuple[str, Ink]]) -> tuple[list[tuple[float, float]], float]:
    """Where each entry stands, and where the figures begin."""
    places, x, y = [], MARGIN, _TITLE + 16
    for label, _ in legend:
        width = _SWATCH + _LETTER * len(shortened(label, _LONGEST_LABEL)) + GAP
        if x > MARGIN and x + width > WIDTH - MARGIN:
            x, y = MARGIN, y + _LEGEND_ROW
        places.append((x, y))
        x += width
    return places, y + 14 if legend else _TITLE + 8


@dataclass(frozen=True)
class _Scaled:
    """What another drawing drew, without its frame."""

    inside: Markup
    css_class: str
    scale: float
    height: float


def _scaled(figure: Markup, width: float) -> _Scaled:
    found = _DRAWING.fullmatch(figure)
    if found is None:
        raise ValueError("a sheet is made of drawings of report/svg.py, which begin with their size")
    scale = width / float(found[1])
    inside = _ON_TOUCH.sub("", found[4])
    return _Scaled(Markup(inside), found[3], scale, float(found[2]) * scale)
