"""The frame of a small figure with epochs (or lengths) to the right and a share, or any value, upwards."""

from collections.abc import Collection

from semfocus.report.scales import Linear, Logarithmic
from semfocus.report.svg import Drawing, Point
from semfocus.report.texts import shortened
from semfocus.report.value_axis import tick_text

WIDTH, HEIGHT = 380.0, 262.0
#: with more arms than this, names beside the lines would not fit; the legend names them
MOST_LABELS = 14
TOP, BOTTOM, LEFT = 26.0, 36.0, 42.0
#: the width of a letter in the name of a line, and of the leader before it
_LETTER, _LEADER = 5.6, 10.0


def label_room(labels: Collection[str]) -> float:
    """What to leave to the right of lines for their names: at most a third of the figure; if they are many, the legend has them."""
    if len(labels) > MOST_LABELS:
        return 12.0
    longest = max(map(len, labels), default=0)
    return min(WIDTH / 3, max(94.0, _LEADER + _LETTER * longest))


class Panel:
    """Axes, grid and title; figures add their lines through `place`."""

    def __init__(
        self,
        title: str,
        css_class: str,
        *,
        last_epoch: int,
        low: float,
        high: float = 1.0,
        right: float = 12.0,
        unit: str = "epoch",
        values: Linear | Logarithmic | None = None,
        members: str = "seeds",
    ) -> None:
        """`values`: an axis of any values instead of shares from `low` to `high`; `members`: what the thin lines are."""
        self.unit = unit
        self.x = Linear(0, max(1, last_epoch), LEFT, WIDTH - right)
        self.y: Linear | Logarithmic = values or Linear(low, high, HEIGHT - BOTTOM, TOP)
        self.tick_text = _percent if values is None else tick_text
        self.drawing = Drawing(
            WIDTH,
            HEIGHT,
            title,
            f"panel {css_class}",
            data_x0=self.x.start,
            data_x1=self.x.end,
            data_last=max(1, last_epoch),
            data_y0=self.y.start,
            data_y1=self.y.end,
            data_low=str(self.y.low),
            data_high=str(self.y.high),
            data_unit=unit,
            data_scale=None if values is None else "log" if isinstance(values, Logarithmic) else "value",
            data_members=members,
        )
        self.drawing.add("text", title, css_class="panel-title", x=LEFT - 30, y=13.0)
        self._axes()

    def _axes(self) -> None:
        for value in self.y.ticks(5):
            y = self.y(value)
            self.drawing.add("line", css_class="grid", x1=self.x.start, x2=self.x.end, y1=y, y2=y)
            self.drawing.add(
                "text", self.tick_text(value), css_class="tick", x=LEFT - 5, y=y + 3.6, text_anchor="end"
            )
        for value in self.x.ticks(5):
            x = self.x(value)
            self.drawing.add("line", css_class="axis", x1=x, x2=x, y1=self.y.start, y2=self.y.start + 4)
            self.drawing.add(
                "text", f"{value:g}", css_class="tick", x=x, y=self.y.start + 15, text_anchor="middle"
            )
        self.drawing.add(
            "line", css_class="axis", x1=self.x.start, x2=self.x.end, y1=self.y.start, y2=self.y.start
        )
        middle = (self.x.start + self.x.end) / 2
        self.drawing.add("text", self.unit, css_class="tick", x=middle, y=HEIGHT - 5, text_anchor="middle")

    def place(self, epoch: float, value: float) -> Point:
        return self.x(epoch), self.y(value)

    def level(self, value: float, label: str, at_left: bool = False) -> None:
        """A horizontal line that means something, such as the target; named at that end where lines leave room."""
        y = self.y(value)
        self.drawing.add("line", css_class="target", x1=self.x.start, x2=self.x.end, y1=y, y2=y)
        x, anchor = (self.x.start + 4, "start") if at_left else (self.x.end - 2, "end")
        self.drawing.add(
            "text", label, css_class="target-label", x=x, y=y - 4 if at_left else y + 11, text_anchor=anchor
        )

    def mark(self, value: float, label: str) -> None:
        """A vertical line that means something, named at its foot."""
        x = self.x(value)
        self.drawing.add("line", css_class="target", x1=x, x2=x, y1=self.y.start, y2=self.y.end)
        self.drawing.add("text", label, css_class="target-label", x=x + 3, y=self.y.start - 4)

    def moment(self, epoch: float, css_class: str, tip: str) -> None:
        """An upright line that belongs to one arm."""
        x = self.x(epoch)
        self.drawing.add(
            "line", css_class=f"moment {css_class}", x1=x, x2=x, y1=self.y.start, y2=self.y.end, tip=tip
        )

    def end_label(self, label: str, css_class: str, y_line: float, y_text: float) -> None:
        """The name of a line at its right end, joined to it by a thin leader."""
        x = self.x.end
        shown = shortened(label, round((WIDTH - x - _LEADER) / _LETTER))
        self.drawing.add(
            "path", css_class=f"leader {css_class}", d=f"M{x:.1f} {y_line:.1f}L{x + 7:.1f} {y_text:.1f}"
        )
        self.drawing.add("text", shown, css_class=f"end-label {css_class}", x=x + 9, y=y_text + 3.5)


def _percent(share: float) -> str:
    return f"{100 * share:.0f}%"
