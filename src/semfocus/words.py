"""Counts, durations and numbers as people read them."""

import math
from collections.abc import Iterable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal


def count_of(num: int, noun: str) -> str:
    """A number of things.

    >>> count_of(1, "seed"), count_of(3, "seed"), count_of(0, "class"), count_of(2, "quantity"), count_of(2, "key")
    ('1 seed', '3 seeds', '0 classes', '2 quantities', '2 keys')
    """
    if num == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{num} {noun[:-1]}ies"
    return f"{num} {noun}{'es' if noun.endswith('s') else 's'}"


def span(low: str, high: str) -> str:
    """From the lowest to the highest as written, or one of them where both read alike.

    >>> span("0.30", "0.47"), span("2.06", "2.06")
    ('0.30 to 0.47', '2.06')
    """
    return low if low == high else f"{low} to {high}"


def with_span(middle: str, low: str, high: str, more: str = "") -> str:
    """A middle with the range around it, left out where all read alike.

    >>> with_span("7", "4", "13"), with_span("7", "7", "7"), with_span("7", "7", "7", "1 seed")
    ('7 (4 to 13)', '7', '7 (1 seed)')
    """
    around = ", ".join(each for each in ("" if low == high else span(low, high), more) if each)
    return f"{middle} ({around})" if around else middle


def duration(seconds: float) -> str:
    """As fine as an estimate deserves.

    >>> duration(42), duration(720), duration(11_100), duration(50_000)
    ('42 s', '12 min', '3 h 05 min', '14 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes < 600 else f"{minutes / 60:,.0f} h"


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


def p_value(p: float) -> str:
    """0.25, 0.0625, 0.00195, 0.00002."""
    return f"{Decimal(f'{p:.3g}'):f}"


def percent(share: float) -> str:
    """98.1 %; a whole number without decimals."""
    value = 100 * share
    return f"{value:.0f} %" if math.isclose(value, round(value), abs_tol=1e-9) else f"{value:.1f} %"


def visible(text: object) -> str:
    """The text with every character that cannot be seen written as an escape.

    A right-to-left mark would turn the words around it, and half of a surrogate pair cannot be written to a file.

    >>> visible("top\u202e_k")
    'top\\\\u202e_k'
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in shown)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: object, most: int = 28) -> str:
    """The text in at most so many characters; the middle goes first, since names differ at their ends.

    >>> shortened("a_very_long_name_of_a_pattern(5)", 13)
    'a_very…ern(5)'
    """
    shown = visible(text)
    if len(shown) <= most:
        return shown
    tail = (most - 1) // 2
    return f"{shown[: most - 1 - tail]}…{shown[-tail:]}"


def listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def short(value: float | None) -> str:
    """A value in three digits; a dash where there is none.

    >>> short(0.012345), short(None)
    ('0.0123', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    return f"{value:.3g}"
