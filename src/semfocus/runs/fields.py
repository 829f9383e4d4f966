"""The fields of a spec, and the types that each may have; readable without torch."""

from collections.abc import Mapping
from functools import cache
from types import NoneType
from typing import Any, get_args

from semfocus.runs.pretraining import Pretraining
from semfocus.runs.training_settings import TrainingSettings
from semfocus.settings import LATER, ModelSettings, Settings

#: the names of a nested value
Path = tuple[str, ...]

_GROUPS: Mapping[str, type[Settings]] = {
    "model": ModelSettings,
    "training": TrainingSettings,
    "pretraining": Pretraining,
}
#: those of `RunSpec` itself are here by name, since that class cannot be read without torch
_OF_THE_SPEC: Mapping[str, set[type]] = {
    "task": {str},
    "pattern": {str},
    "seed": {int},
    "data": {str, NoneType},
    "recipe": {str, NoneType},
    "results_version": {int},
}
#: how JSON writes a type, and how a message calls it
_WRITTEN: Mapping[type, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    int: ((int,), "a whole number"),
    float: ((float, int), "a number"),
    bool: ((bool,), "true or false"),
    tuple: ((list, tuple), "a list"),
    NoneType: ((NoneType,), "null"),
}


@cache
def kinds_of(path: Path) -> tuple[frozenset[type], Path | None]:
    """The types that a field of a spec may have (none: a field of another version), and which part of its
    path is LATER.
    """
    if len(path) == 1 and path[0] not in _GROUPS:
        return frozenset(_OF_THE_SPEC.get(path[0], ())), None
    later = path[:1] if path[0] == "pretraining" else None
    settings: type[Settings] | None = _GROUPS.get(path[0])
    kinds: set[type] = {settings, NoneType} if settings and later else {settings} if settings else set()
    for place, name in enumerate(path[1:], start=2):
        known = None if settings is None else settings.model_fields.get(name)
        if known is None:
            return frozenset(), later
        kinds = _types_in(known.annotation)
        if LATER in known.metadata:
            later = path[:place]
        settings = next((each for each in kinds if issubclass(each, Settings)), None)
    return frozenset(kinds), later


def _types_in(annotation: Any) -> set[type]:
    """int | None -> {int, NoneType}; of a Literal the types of its values, of a container the container."""
    parts = get_args(annotation)
    if isinstance(annotation, type) and not parts:
        return {annotation}
    origin = getattr(annotation, "__origin__", None)
    if isinstance(origin, type):  # tuple[int, int]
        return {origin}
    return {
        found
        for part in parts
        for found in (_types_in(part) if get_args(part) or isinstance(part, type) else {type(part)})
    }


def problem_of_fields(values: Mapping[str, Any], above: Path = ()) -> str | None:
    """The first field whose value is of another type; one that is not known here may hold anything."""
    for name, value in values.items():
        path = (*above, name)
        kinds, _ = kinds_of(path)
        if isinstance(value, dict) and any(issubclass(kind, Settings) for kind in kinds):
            problem = problem_of_fields(value, path)
            if problem is not None:
                return problem
        elif kinds and not any(_is(value, kind) for kind in kinds):
            words = " or ".join(sorted(_WRITTEN[kind][1] if kind in _WRITTEN else "a dict" for kind in kinds))
            return f"{'.'.join(path)} is not {words}"
    return None


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return kind in _WRITTEN and isinstance(value, _WRITTEN[kind][0])
