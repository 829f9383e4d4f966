"""How many keys a top-k pattern keeps, read from its text without loading any mechanism."""

import re

_TOP_K = re.compile(r"top_k\((\d+)\)(?:\+G(\d+))?\Z")
_GLOBALS = re.compile(r".*\+G(\d+)\Z")


def top_k_of(pattern: str) -> int | None:
    """k of plain top-k, None for every other pattern.

    >>> top_k_of("top_k(5)"), top_k_of("top_k(5)+G1"), top_k_of("bottom_k(5)")
    (5, None, None)
    """
    matched = _TOP_K.match(pattern)
    return int(matched[1]) if matched and matched[2] is None else None


def kept_with_globals(pattern: str) -> int | None:
    """Keys that a query keeps under top-k, the global ones too.

    >>> kept_with_globals("top_k(5)"), kept_with_globals("top_k(5)+G2"), kept_with_globals("full")
    (5, 7, None)
    """
    matched = _TOP_K.match(pattern)
    return int(matched[1]) + num_globals(pattern) if matched else None


def num_globals(pattern: str) -> int:
    """Global tokens of a pattern.

    >>> num_globals("full"), num_globals("full+G3")
    (0, 3)
    """
    matched = _GLOBALS.match(pattern)
    return int(matched[1]) if matched else 0
