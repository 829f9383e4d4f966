"""Texts that users chose, made safe to look at: no control or direction characters, no endless names."""

from collections.abc import Iterable


def visible(text: object) -> str:
    """The text with every character that cannot be seen written as an escape.

    A right-to-left mark would turn the words around it, and half of a surrogate pair cannot be written to a file.

    >>> visible("top\u202e_k")
    'top\\\\u202e_k'
    """
    return "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in str(text))


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
