"""How one arm of a comparison is written: a pattern, and its inverse temperature if that is said: `full x4`."""

import re

from semfocus.mechanisms import parse_pattern

# the second sign is the multiplication sign of the tables
_SHARPER = re.compile(r"(?P<pattern>.+\S)\s+[x\u00d7]\s*(?P<factor>\d+(\.\d+)?)\s*\Z")


def read_arm(text: str) -> tuple[str, float | None]:
    """The pattern and the inverse temperature, None if the text does not say one.

    >>> read_arm("full x4"), read_arm("banded(5)+G1")
    (('full', 4.0), ('banded(5)+G1', None))
    """
    matched = _SHARPER.match(text)
    pattern = matched["pattern"] if matched else text
    return str(parse_pattern(pattern)), float(matched["factor"]) if matched else None
