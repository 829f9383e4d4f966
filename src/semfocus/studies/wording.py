"""Numbers as people read them: ratios, p values, shares."""

import math
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from semfocus.studies.statistics import Speedup

#: a number this near to 1 is written with as many digits as it takes to see on which side of 1 it lies
_AS_GOOD_AS_ONE = 1e-6


def number(value: float, rounding: str = ROUND_HALF_UP) -> str:
    """Two or three digits that matter, halves upwards; 1.03 is not 1, neither is 1.004, and 0.0004 is not 0.

    >>> number(5.714), number(0.4567), number(1.03), number(58.0), number(1234.5), number(1.004), number(2.25)
    ('5.7', '0.46', '1.03', '58', '1235', '1.004', '2.3')
    >>> number(0.0004), at_least(0.0004)
    ('0.0004', '0.00')
    """
    if 0 < value < 0.01 and rounding == ROUND_HALF_UP:
        return f"{value:.1g}"
    if value >= 100 or value == int(value):
        return _rounded(value, 0, rounding)
    if value >= 2:
        return _rounded(value, 1, rounding).removesuffix(".0")
    if _AS_GOOD_AS_ONE < abs(value - 1) < 0.005:
        return next(
            text for digits in range(3, 8) if float(text := _rounded(value, digits, ROUND_HALF_UP)) != 1
        )
    text = _rounded(value, 2, rounding)
    return text.removesuffix("0") if value >= 1 else text


def at_least(value: float) -> str:
    """A number that is a lower bound: rounded down, or it would claim too much."""
    return number(value, ROUND_DOWN)


def _rounded(value: float, digits: int, rounding: str) -> str:
    """As people round: of the number as it is written, 2.25 becomes 2.3."""
    return str(Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-digits), rounding))


def ratio(value: float | None, missing: str = "") -> str:
    """A speedup; beyond what three digits can say, only on which side it is."""
    if value is None:
        return missing
    if value >= 1000:
        return "1000+"
    return "under 0.01" if value < 0.01 else number(value)


def times(value: float) -> str:
    """A speedup with its sign: 5.7x, 1.04x."""
    return f"{ratio(value)}x"


def interval(speedup: Speedup) -> str:
    """[3.1, 10.4]; 0 or ∞ where the data give no limit; nothing for a single seed.

    >>> interval(Speedup(2.0, 1.4, None, method="t"))
    '[1.4, ∞]'
    """
    if speedup.method == "none":
        return ""
    return f"[{ratio(speedup.low, '0')}, {ratio(speedup.high, '∞')}]"


def bounded(speedup: Speedup) -> str:
    """5.7x, at least 2.3x, at most 0.5x: the median of the seeds without its interval."""
    if speedup.ratio is None:
        return "unknown"
    side = "at least " if speedup.at_least else "at most " if speedup.at_most else ""
    return f"{side}{times(speedup.ratio)}"


def p_value(p: float) -> str:
    """0.25, 0.0625, 0.00195."""
    return f"{p:.3g}"


def percent(share: float) -> str:
    """98.1 %; a whole number without decimals."""
    value = 100 * share
    return f"{value:.0f} %" if math.isclose(value, round(value), abs_tol=1e-9) else f"{value:.1f} %"
