"""The known patterns by name, and the way from text to pattern."""

import re

from semfocus.mechanisms.controls import BottomK, Random
from semfocus.mechanisms.global_tokens import WithGlobals
from semfocus.mechanisms.input_agnostic import Banded, BlockLocal, Full
from semfocus.mechanisms.input_dependent import TopK, TopP
from semfocus.mechanisms.pattern import Pattern
from semfocus.notation import prepare, read

PATTERNS: dict[str, type[Pattern]] = {
    cls.name: cls for cls in (Full, Banded, BlockLocal, TopK, BottomK, Random, TopP)
}

BUILT_IN = frozenset(PATTERNS)

for _pattern in PATTERNS.values():
    prepare(_pattern)

_GLOBALS = re.compile(r"(?P<base>.*?)\s*\+\s*G(?P<num>-?\d+)\s*\Z", re.DOTALL)
#: characters of a wrong text that a message repeats
_SHOWN = 60


def parse_pattern(text: str) -> Pattern:
    """The pattern that `text` writes, so that parse_pattern(str(pattern)) == pattern.

    >>> parse_pattern("block_local(5)+G1")
    WithGlobals(base=BlockLocal(size=5), num_globals=1)
    """
    if not isinstance(text, str):
        raise ValueError(f"a pattern is written as text such as 'top_k(5)', got {text!r}")
    globals_added = _GLOBALS.match(text)
    if globals_added is None:
        return read(text, PATTERNS, "pattern")
    base = globals_added["base"]
    if _GLOBALS.match(base):  # here, since a text has no limit to how deep it nests
        raise ValueError(f"+G: global tokens cannot be nested, got {base[:_SHOWN]!r} as the base")
    return WithGlobals(read(base, PATTERNS, "pattern"), int(globals_added["num"]))


def register_pattern(cls: type[Pattern]) -> type[Pattern]:
    """Make a user's own pattern known by its name, for specs and the command line."""
    if cls.name in BUILT_IN:
        raise ValueError(f"the pattern name {cls.name!r} is taken by a built-in pattern; choose another")
    prepare(cls)
    PATTERNS[cls.name] = cls
    return cls
