"""Strict values written as text: `top_k(5)`, `random(5,fixed)`, `marked_majority(5)`, and back."""

import dataclasses
import difflib
import re
from collections.abc import Mapping
from typing import Any, TypeVar, get_type_hints

_CALL = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*(?:\((?P<arguments>[^()]*)\))?\s*\Z")
_INTEGER = re.compile(r"[+-]?\d+\Z")


class Notation:
    """A frozen dataclass whose fields are int, float or bool, and whose text form is `name(arguments)`.

    Types are strict: an int field refuses True, 5.0 and "5". A bool field is written as its own
    name when it differs from its default False, and left out otherwise.
    """

    name: str

    def __post_init__(self) -> None:
        for field, expected in _fields_of(type(self)).items():
            value = getattr(self, field)
            if type(value) is not expected:
                raise ValueError(f"{self.name}: {field} must be {_WORDS[expected]}, got {value!r}")
        self.validate()

    def validate(self) -> None:
        """Refuse values of the right type that make no sense; raise ValueError."""

    def require_at_least(self, field: str, smallest: int) -> None:
        """The commonest check of `validate`."""
        value = getattr(self, field)
        if value < smallest:
            raise ValueError(f"{self.name}: {field} must be at least {smallest}, got {value}")

    def __str__(self) -> str:
        words = []
        for field, expected in _fields_of(type(self)).items():
            value = getattr(self, field)
            if expected is not bool:
                words.append(repr(value))
            elif value:
                words.append(field)
        return f"{self.name}({','.join(words)})" if words else self.name


Value = TypeVar("Value", bound=Notation)
_WORDS: Mapping[Any, str] = {int: "an integer", float: "a float", bool: "True or False"}


# Kept, because torch.compile can look up a type but not read its hints, and a value may be made where it traces.
_FIELDS: dict[type, dict[str, Any]] = {}


def prepare(cls: type[Notation]) -> None:
    """Read the fields of a class before its first value is made, which may be inside a traced function."""
    _fields_of(cls)


def _fields_of(cls: type) -> dict[str, Any]:
    if cls not in _FIELDS:
        assert dataclasses.is_dataclass(cls), f"{cls.__name__} must be a frozen dataclass"
        hints = get_type_hints(cls)
        _FIELDS[cls] = {field.name: hints[field.name] for field in dataclasses.fields(cls)}
    return _FIELDS[cls]


def read(text: str, known: Mapping[str, type[Value]], kind: str) -> Value:
    """The value that `text` writes; an error names what is known. `kind` is the noun for messages."""
    match = _CALL.match(text)
    if match is None:
        raise ValueError(f"cannot read the {kind} {text!r}; known: {describe(known)}")
    name, arguments = match["name"], match["arguments"]
    if name not in known:
        raise ValueError(f"unknown {kind} {name!r}{did_you_mean(name, known)}; known: {describe(known)}")
    cls = known[name]
    words = [word.strip() for word in arguments.split(",")] if arguments and arguments.strip() else []
    return _build(cls, words, text, kind)


def _build(cls: type[Value], words: list[str], text: str, kind: str) -> Value:
    fields = _fields_of(cls)
    flags = {field for field, expected in fields.items() if expected is bool}
    numbers = [field for field in fields if field not in flags]
    values: dict[str, Any] = {}
    for word in words:
        if word in flags and word not in values:
            values[word] = True
        elif numbers:
            values[numbers.pop(0)] = _number(word, text, kind, cls)
        else:
            raise ValueError(f"{kind} {text!r}: cannot use {word!r}; expected {signature(cls)}")
    try:
        return cls(**values)
    except TypeError:
        raise ValueError(f"{kind} {text!r}: expected {signature(cls)}") from None


def _number(word: str, text: str, kind: str, cls: type) -> int | float:
    if _INTEGER.match(word):
        return int(word)
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{kind} {text!r}: {word!r} is not a number; expected {signature(cls)}") from None


def signature(cls: type[Notation]) -> str:
    """How a value of this class is written, with field names for values: `random(k[,fixed])`."""
    optional = {field.name for field in dataclasses.fields(cls) if field.default is not dataclasses.MISSING}  # type: ignore[arg-type]
    words = [f"[{field}]" if field in optional else field for field in _fields_of(cls)]
    return f"{cls.name}({','.join(words)})".replace(",[", "[,") if words else cls.name


def describe(known: Mapping[str, type[Notation]]) -> str:
    """All known values, as a person would write them."""
    return ", ".join(signature(cls) for cls in known.values())


def did_you_mean(word: str, known: Mapping[str, object]) -> str:
    """` (did you mean 'x'?)` when something known is close, else nothing."""
    close = difflib.get_close_matches(word, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


# Separators between values, not those inside brackets.
_BETWEEN = re.compile(r"[;,]\s*(?![^()]*\))")


def split_list(text: str, option: str) -> list[str]:
    """`full; random(5,fixed), top_k(5)` -> three texts; semicolons and commas separate outside of brackets."""
    found = [part.strip() for part in _BETWEEN.split(text) if part.strip()]
    if not found:
        raise ValueError(f"{option} names nothing: {text!r}")
    return found
