"""The value axis of a figure whose quantity may have any size: linear from 0, or logarithmic over decades."""

import math
from collections.abc import Sequence

from semfocus.report.scales import Linear, Logarithmic

#: a span of more than this between smallest and largest is drawn in decades
_WIDE = 60.0


def value_axis(values: Sequence[float], start: float, end: float) -> Linear | Logarithmic:
    """An axis on which all values have a place; `values` must not be empty."""
    low, high = min(values), max(values)
    if low > 0 and high / low > _WIDE:
        return Logarithmic(low / 1.15, high * 1.15, start, end)
    low = min(0.0, low)
    room = 0.06 * (high - low) or 0.5
    return Linear(low - room if low < 0 else 0.0, high + room, start, end)


def tick_text(value: float) -> str:
    """As few characters as a tick needs.

    >>> tick_text(0.25), tick_text(1200.0), tick_text(1e-7)
    ('0.25', '1200', '1e-07')
    """
    return f"{value:.6g}" if value == 0 or 1e-4 <= abs(value) < 1e5 else f"{value:.0e}"


def short(value: float | None) -> str:
    """A value in three digits; a dash where there is none.

    >>> short(0.012345), short(None)
    ('0.0123', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.3g}"
