"""Axes of charts: which scale fits the values, and round ticks where decades need their own."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from semfocus.report.figures.figure import Look
from semfocus.report.figures.vega_lite import Spec, column

#: a span of more than this between smallest and largest is drawn in decades
_WIDE = 60.0
PERCENT = ".1%"
#: a number in as few characters as it needs
PLAIN = "format(datum.value, '~g')"


@dataclass(frozen=True)
class Axis:
    """How values stand on the paper. `low`, `high` and ticks are values of a panel, all else makes its kind."""

    low: float
    high: float
    scale: str = "linear"
    form: str = ".4~g"
    title: str | None = None
    ticks: tuple[float, ...] = ()

    @property
    def kind(self) -> Hashable:
        """Equal for axes that differ in their values only."""
        return self.scale, self.form, self.title

    @property
    def values(self) -> dict[str, Any]:
        """Of a panel upwards."""
        return {"low": self.low, "high": self.high, **({"ticks": list(self.ticks)} if self.ticks else {})}

    def y(self, look: Look, index: int, name: str = "value") -> Spec:
        """The channel of a column upwards, between the panel's own values."""
        return column(f"{name}:Q", **self.parts(look, index))

    def parts(self, look: Look, index: int) -> Spec:
        """Scale and axis between the panel's own values."""
        domain = [look.value(index, "low"), look.value(index, "high")]
        ticks = {"values": look.value(index, "ticks")} if self.ticks else {"tickCount": 5}
        return {"scale": self._scale(domain), "axis": self._axis(ticks)}

    def channel(self, name: str) -> Spec:
        """The channel of a column across or upwards, its values written out."""
        ticks = {"values": list(self.ticks)} if self.ticks else {"tickCount": 5}
        return column(f"{name}:Q", scale=self._scale([self.low, self.high]), axis=self._axis(ticks))

    def _scale(self, domain: list[Any]) -> Spec:
        return {"type": self.scale, "domain": domain, "nice": False, "zero": False}

    def _axis(self, ticks: Mapping[str, Any]) -> Spec:
        words = {"format": ".0%"} if self.form == PERCENT else {"labelExpr": PLAIN}
        return {"title": self.title, **words, **ticks}


def shares(low: float = 0.0, high: float = 1.0) -> Axis:
    """A share of 1, in percent."""
    return Axis(low, high, form=PERCENT)


def value_axis(values: Iterable[float | None], title: str | None = None) -> Axis:
    """Linear from 0, or logarithmic over decades: every value has a place."""
    known = _known(values)
    low, high = min(known), max(known)
    if low > 0 and high / low > _WIDE:
        return logarithmic(known, title)
    low = min(0.0, low)
    room = 0.06 * (high - low) or 0.5
    return Axis(low - room if low < 0 else 0.0, high + room, title=title)


def zoomed(values: Iterable[float | None], title: str | None = None) -> Axis:
    """Linear, from the smallest to the largest value."""
    known = _known(values)
    room = 0.06 * (max(known) - min(known)) or 0.01
    return Axis(min(known) - room, max(known) + room, title=title)


def logarithmic(values: Iterable[float | None], title: str | None = None, room: float = 1.2) -> Axis:
    """Positive values, ticks at round ones."""
    known = _known(values)
    low, high = min(known) / room, max(known) * room
    return Axis(low, high, "log", title=title, ticks=tuple(round_ticks(low, high)))


def round_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """1, 2, 5 and their multiples by ten inside the range; over few of them evenly spaced ones, over many only decades.

    >>> round_ticks(0.4, 12)
    [0.5, 1.0, 2.0, 5.0, 10.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1, 2, 5), (1,)):
        found = [float(f"{factor}e{decade}") for decade in decades for factor in factors]
        inside = [value for value in found if low <= value <= high]
        if len(inside) <= most:
            return inside if len(inside) >= 3 or len(factors) == 1 else _even_ticks(low, high)
    every = math.ceil(len(inside) / most)
    return [value for value in inside if round(math.log10(value)) % every == 0]


def _even_ticks(low: float, high: float, most: int = 6) -> list[float]:
    raw = (high - low) / most
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step), math.floor(high / step)
    return [round(index * step, 10) for index in range(first, last + 1)]


def _known(values: Iterable[float | None]) -> Sequence[float]:
    return [value for value in values if value is not None and math.isfinite(value)]
