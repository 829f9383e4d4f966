"""Numbers as people read them: few digits, and never more certain than they are."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semfocus.studies.statistics.speedup import Speedup
    from semfocus.studies.statistics.survival import Estimate

UNKNOWN = "–"


def significant(value: float, digits: int = 2) -> str:
    """So many significant digits, whole numbers in full.

    >>> significant(8.333), significant(0.04567), significant(1234.5), significant(12.0)
    ('8.3', '0.046', '1235', '12')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def times(ratio: float) -> str:
    """`8.3×`; ratios near 1 get the digit that tells them from 1."""
    return f"{significant(ratio, 3 if 0.8 < ratio < 1.25 else 2)}×"


def speedup_text(speedup: "Speedup | None", interval: bool = True) -> str:
    """`8.3× [4.1, 17]`, `≥ 5×`, `≤ 0.8×`."""
    if speedup is None:
        return UNKNOWN
    if speedup.ratio is None:
        return "not known: no seed reached the target" if not speedup.pairs else "not known"
    sign = "≥ " if speedup.at_least else "≤ " if speedup.at_most else ""
    bounds = f" {interval_text(speedup.low, speedup.high)}" if interval and speedup.num_pairs > 1 else ""
    return f"{sign}{times(speedup.ratio)}{bounds}"


def interval_text(low: float | None, high: float | None) -> str:
    """`[4.1, 17]`; an end that was not observed is open."""
    if low is None and high is None:
        return ""
    left = "(0" if low is None else f"[{times(low)[:-1]}"
    right = "∞)" if high is None else f"{times(high)[:-1]}]"
    return f"{left}, {right}"


def estimate_text(estimate: "Estimate", beyond: float | None = None, digits: int = 3) -> str:
    """`7 [4, 13]`; `> 100` where fewer than half got there by epoch 100."""
    if estimate.value is None:
        return UNKNOWN if beyond is None else f"> {significant(beyond, digits)}"
    if estimate.low is None and estimate.high is None:
        return significant(estimate.value, digits)
    low = UNKNOWN if estimate.low is None else significant(estimate.low, digits)
    high = "∞)" if estimate.high is None else f"{significant(estimate.high, digits)}]"
    return f"{significant(estimate.value, digits)} [{low}, {high}"


def p_text(value: float | None) -> str:
    """A p value with two digits."""
    if value is None:
        return UNKNOWN
    return "< 0.0001" if value < 0.0001 else significant(value, 2)


def percent(share: float | None, digits: int = 1) -> str:
    """`99.5%`; 100% only for all of it."""
    if share is None:
        return UNKNOWN
    text = f"{100 * share:.{digits}f}"
    if text.startswith("100") and share < 1:
        text = f"{100 - 10.0**-digits:.{digits}f}"
    return f"{text.removesuffix('.' + '0' * digits)}%"


def setting_text(setting: Mapping[str, Any]) -> str:
    """`blocks 2, length 16, ...`: what differs from the paper's setting, or that nothing does."""
    if not setting:
        return "the paper's setting"
    return ", ".join(f"{key.split('.', 1)[-1]} {value_text(value)}" for key, value in setting.items())


def value_text(value: Any) -> str:
    """One value of a setting."""
    if isinstance(value, list | tuple):
        return " to ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)
