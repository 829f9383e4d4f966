"""Counts and ranges in words, right in the singular too."""


def count_of(num: int, noun: str) -> str:
    """A number of things.

    >>> count_of(1, "seed"), count_of(3, "seed"), count_of(0, "class")
    ('1 seed', '3 seeds', '0 classes')
    """
    if num == 1:
        return f"1 {noun}"
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
