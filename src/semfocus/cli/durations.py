"""Seconds as people say them."""


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
