"""Small pictures as SVG files: axes, lines, dots, bars and words, readable on light and dark pages.

picture = Picture("What the picture says")
panel = picture.panel("one of its axes", x=(0, 10), y=(0, 1), x_label="score", y_label="weight")
panel.line([0, 5, 10], [0, 1, 0], "top_k")
panel.label(5, 0.9, "top-k", "top_k")
picture.save("name")            # name.svg in the current folder; all.py writes those of the documentation
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from drawing import Drawing, Linear, Logarithmic, path, tick_text

from semfocus.report.palette import HUES

#: where pictures are written; all.py changes it, a script by itself leaves those of the documentation alone
IMAGES = Path()
WIDTH, HEIGHT = 760.0, 350.0
TOP, BOTTOM, LEFT, RIGHT, BETWEEN = 88.0, 50.0, 56.0, 22.0, 68.0

#: ink -> its colour on a light and on a dark page; the hues of the reports
INKS = {
    "full": HUES["baseline"][0],
    "top_k": HUES["input-dependent"][0],
    "fixed": HUES["input-agnostic"][0],
    "sharp": HUES["sharper full attention"][0],
    "exact": HUES["sharper full attention"][0],
    "published": HUES["control"][0],
    "wrong": ("#c8102e", "#ff6b7d"),
    "faint": ("#9aa3ad", "#6d7681"),
}
_STYLE = (
    "text{font:12.5px system-ui,-apple-system,Segoe UI,Helvetica,Arial,sans-serif}text.word{stroke:none}"
    "text.title{font-size:16.5px;font-weight:600}text.sub{font-size:12.5px;font-weight:600}"
    "text.tick{font-size:11px}path.line{fill:none;stroke-width:2.2;stroke-linejoin:round}"
    "path.dashed{stroke-dasharray:6 4}path.area{stroke:none;fill-opacity:.15}"
    "circle.dot{stroke-width:1.6}circle.hollow{fill-opacity:.12}"
    "rect.dot{stroke-width:1}rect.hollow{fill-opacity:.1;stroke-dasharray:3 2}"
)


class Panel:
    """One pair of axes; everything is placed in the units of the axes."""

    def __init__(self, drawing: Drawing, x: Linear | Logarithmic, y: Linear | Logarithmic) -> None:
        self.drawing, self.x, self.y = drawing, x, y

    def axes(
        self, title: str, x_label: str, y_label: str, x_ticks: Sequence[float], y_ticks: Sequence[float]
    ) -> None:
        """Title, grid and ticks."""
        left, right, bottom, top = self.x.start, self.x.end, self.y.start, self.y.end
        self.drawing.add("text", title, css_class="sub strong", x=left - 40, y=top - 30)
        for value in y_ticks:
            y = self.y(value)
            self.drawing.add("path", css_class="grid", d=f"M{left:.1f} {y:.1f}H{right:.1f}")
            self.drawing.add(
                "text", tick_text(value), css_class="tick", x=left - 7, y=y + 4, text_anchor="end"
            )
        for value in x_ticks:
            x = self.x(value)
            self.drawing.add("path", css_class="axis", d=f"M{x:.1f} {bottom:.1f}v4")
            self.drawing.add(
                "text", tick_text(value), css_class="tick", x=x, y=bottom + 17, text_anchor="middle"
            )
        self.drawing.add("path", css_class="axis", d=f"M{left:.1f} {bottom:.1f}H{right:.1f}")
        middle = (left + right) / 2
        self.drawing.add("text", x_label, css_class="tick", x=middle, y=bottom + 35, text_anchor="middle")
        self.drawing.add("text", y_label, css_class="tick", x=left - 40, y=top - 13)

    def line(self, xs: Sequence[float], ys: Sequence[float], ink: str, *, dashed: bool = False) -> None:
        points = [(self.x(float(x)), self.y(float(y))) for x, y in zip(xs, ys, strict=True)]
        self.drawing.add("path", css_class=f"{ink} line{' dashed' if dashed else ''}", d=path(points))

    def area(self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], ink: str) -> None:
        """What lies between two lines."""
        there = [(self.x(float(x)), self.y(float(y))) for x, y in zip(xs, highs, strict=True)]
        back = [(self.x(float(x)), self.y(float(y))) for x, y in zip(xs, lows, strict=True)]
        self.drawing.add("path", css_class=f"{ink} area", d=path([*there, *reversed(back)]) + "z")

    def dots(
        self, xs: Sequence[float], ys: Sequence[float], ink: str, *, size: float = 4.0, hollow: bool = False
    ) -> None:
        style = f"{ink} dot{' hollow' if hollow else ''}"
        for x, y in zip(xs, ys, strict=True):
            self.drawing.add("circle", css_class=style, cx=self.x(float(x)), cy=self.y(float(y)), r=size)

    def bar(self, x: float, height: float, ink: str, *, width: float = 0.7, hollow: bool = False) -> None:
        """From 0 (or the foot of the axis) up or down, centred at x; `width` in units of x."""
        foot, end = self.y(max(0.0, self.y.low)), self.y(float(height))
        left, right = self.x(x - width / 2), self.x(x + width / 2)
        size = {"width": right - left, "height": abs(foot - end)}
        style = f"{ink} dot{' hollow' if hollow else ''}"
        self.drawing.add("rect", css_class=style, x=left, y=min(foot, end), **size)

    def label(self, x: float, y: float, text: str, ink: str = "strong", *, anchor: str = "start") -> None:
        self.drawing.add(
            "text", text, css_class=f"{ink} word", x=self.x(x), y=self.y(y) + 4.5, text_anchor=anchor
        )


class Picture:
    """A card with a title and room for `columns` panels side by side."""

    def __init__(self, title: str, *, columns: int = 1, height: float = HEIGHT) -> None:
        self.columns, self.used = columns, 0
        self.drawing = Drawing(WIDTH, height, title, "learn", xmlns="http://www.w3.org/2000/svg")
        self.drawing.add("style", _stylesheet())
        self.drawing.add("rect", css_class="card", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, rx=8)
        self.drawing.add("text", title, css_class="title strong", x=LEFT - 40, y=29.0)

    def panel(
        self,
        title: str,
        *,
        x: tuple[float, float],
        y: tuple[float, float],
        x_label: str = "",
        y_label: str = "",
        x_ticks: Sequence[float] | None = None,
        y_ticks: Sequence[float] | None = None,
        log_x: bool = False,
        log_y: bool = False,
    ) -> Panel:
        """The next panel; ticks are chosen where none are given."""
        room = (WIDTH - LEFT - RIGHT - (self.columns - 1) * BETWEEN) / self.columns
        left = LEFT + self.used * (room + BETWEEN)
        self.used += 1
        across = (Logarithmic if log_x else Linear)(*x, left, left + room)
        up = (Logarithmic if log_y else Linear)(*y, self.drawing.height - BOTTOM, TOP)
        panel = Panel(self.drawing, across, up)
        panel.axes(
            title,
            x_label,
            y_label,
            across.ticks(6) if x_ticks is None else x_ticks,
            up.ticks(6) if y_ticks is None else y_ticks,
        )
        return panel

    def save(self, name: str) -> None:
        IMAGES.mkdir(parents=True, exist_ok=True)
        size = f'<svg width="{self.drawing.width:g}" height="{self.drawing.height:g}" '
        text = str(self.drawing.markup()).replace("<svg ", size, 1)
        written = IMAGES / f"{name}.svg"
        written.write_text(text.replace("><", ">\n<") + "\n", encoding="utf-8")
        print(f"picture: {written}", file=sys.stderr)


def _stylesheet() -> str:
    """A card of its own in both modes: nobody knows the colour of the page around it."""
    light = _colours(0, card="#ffffff", strong="#1c2127", weak="#5b6570", grid="#e3e7eb", edge="#d5dadf")
    dark = _colours(1, card="#14181d", strong="#e8ecf0", weak="#a3adb8", grid="#2a3038", edge="#343b44")
    return f"{light}{_STYLE}@media (prefers-color-scheme:dark){{{dark}}}"


def _colours(mode: int, *, card: str, strong: str, weak: str, grid: str, edge: str) -> str:
    inks = "".join(f".{name}{{fill:{pair[mode]};stroke:{pair[mode]}}}" for name, pair in INKS.items())
    return (
        f"{inks}.strong{{fill:{strong}}}.tick{{fill:{weak}}}.card{{fill:{card};stroke:{edge}}}"
        f".grid{{stroke:{grid}}}.axis{{stroke:{weak}}}"
    )
