"""SVG text and axes for picture.py, in which nothing but our own names is markup."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from semfocus.words import visible

Point = tuple[float, float]


def number(value: float) -> str:
    """A coordinate to a tenth of a unit, in as few characters as possible.

    >>> number(3.0), number(0.25), number(-0.5)
    ('3', '.2', '-.5')
    """
    text = f"{value:.1f}".rstrip("0").rstrip(".")
    text = text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text
    return "0" if text in ("-0", "", "-") else text


class Drawing:
    """A list of elements; `markup` is the whole picture."""

    def __init__(self, width: float, height: float, title: str, css_class: str, **data: object) -> None:
        self.width, self.height = width, height
        self._parts: list[str] = []
        attributes = _attributes({"class": css_class, "aria-label": title, **data})
        self._open = f'<svg viewBox="0 0 {number(width)} {number(height)}" role="img"{attributes}>'

    def add(self, tag: str, text: object = None, *, tip: object = None, **attributes: object) -> None:
        """One element; `text` is its content, `tip` what a pointer resting on it shows."""
        inside = "" if text is None else str(escape(visible(text)))
        inside += "" if tip is None else f"<title>{escape(visible(tip))}</title>"
        self._parts.append(f"<{tag}{_attributes(attributes)}>{inside}</{tag}>")

    def markup(self) -> Markup:
        return Markup(f"{self._open}{''.join(self._parts)}</svg>")  # every part was escaped when it was added


def _attributes(attributes: dict[str, object]) -> str:
    """`css_class` writes class, `data_x` writes data-x; None leaves an attribute out."""
    written = []
    for key, value in attributes.items():
        if value is not None:
            name = "class" if key == "css_class" else key.replace("_", "-")
            shown = number(value) if isinstance(value, float) else visible(value)
            written.append(f' {name}="{escape(shown)}"')
    return "".join(written)


def path(points: Sequence[Point | None]) -> str:
    """A line through the points with relative steps; None is a gap.

    Points in the middle of a level stretch are left out.
    """
    written: list[str] = []
    here: Point | None = None
    for at, point in enumerate(points):
        if point is None:
            here = None
            continue
        x, y = round(point[0], 1), round(point[1], 1)
        if here is None:
            written.append(f"M{number(x)} {number(y)}")
        elif _level(points, at, y):
            continue
        else:
            dy = number(y - here[1])
            written.append(f"l{number(x - here[0])}{'' if dy.startswith('-') else ' '}{dy}")
        here = (x, y)
    return "".join(written)


def _level(points: Sequence[Point | None], at: int, y: float) -> bool:
    before, after = points[at - 1], points[at + 1] if at + 1 < len(points) else None
    return bool(before and after) and round(before[1], 1) == y == round(after[1], 1)  # type: ignore[index]


@dataclass(frozen=True)
class Linear:
    """Values from `low` to `high` on places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values inside the range.

        >>> Linear(0, 100, 0, 1).ticks()
        [0, 20, 40, 60, 80, 100]
        """
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        raw = span / most
        size = 10 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [_whole(round(index * step, 10)) for index in range(first, last + 1)]


@dataclass(frozen=True)
class Logarithmic:
    """Ratios on a logarithmic axis: twice as fast is as far from 1 as half as fast."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        low, high = math.log(self.low), math.log(self.high)
        share = (math.log(value) - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self, most: int = 8) -> list[float]:
        """1, 2, 5 and their multiples by ten if that is not too many, else fewer.

        >>> Logarithmic(0.4, 12, 0, 1).ticks()
        [0.5, 1, 2, 5, 10]
        """
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1,)):
            found = [_whole(round(factor * 10.0**decade, 10)) for decade in decades for factor in factors]
            inside = [value for value in found if self.low <= value <= self.high]
            if len(inside) <= most:
                return inside
        return [value for value in inside if value == 1 or round(math.log10(value)) % 2 == 0]


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def tick_text(value: float) -> str:
    """As few characters as a tick needs.

    >>> tick_text(0.25), tick_text(1200.0), tick_text(1e-7)
    ('0.25', '1200', '1e-07')
    """
    return f"{value:.6g}" if value == 0 or 1e-4 <= abs(value) < 1e5 else f"{value:.0e}"
