"""What the code behind a module's forward pass mentions, read from its bytecode, so that no source is needed."""

import dis
import inspect
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from torch import nn

#: stands for the operator among the names
MATRIX_PRODUCT = "@"
#: libraries whose functions are known by their names and not read
_LIBRARIES = ("torch", "transformers", "numpy", "einops")
#: the base class of all models of transformers, whose methods are about loading and saving
_MODEL_CLASS = "transformers.modeling_utils"


def names_of_forward(module: nn.Module) -> frozenset[str] | None:
    """Names in `forward`, in methods and functions of the user that it calls, and "name=" for each keyword.

    None where `forward` is no Python function.
    """
    own = vars(module).get("forward")
    if own is not None:
        return _names(inspect.unwrap(getattr(own, "__func__", own)), type(module))
    return _names_of_class(type(module))  # type: ignore[arg-type]  # a class of modules has a hash


@cache
def _names_of_class(cls: type) -> frozenset[str] | None:
    return _names(inspect.unwrap(inspect.getattr_static(cls, "forward")), cls)


def _names(forward: Any, cls: type) -> frozenset[str] | None:
    if not isinstance(forward, FunctionType):
        return None
    pending: list[FunctionType] = [forward]
    seen: set[FunctionType] = set()
    found: set[str] = set()
    while pending:
        function = pending.pop()
        if function in seen:
            continue
        seen.add(function)
        names = set(_mentioned(function.__code__))
        values = dict(_values(function, names))
        found |= names | {value.__name__ for value in values.values() if hasattr(value, "__name__")}
        pending += _methods(cls, names)
        if not cls.__module__.startswith("transformers."):
            pending += [value for value in values.values() if _is_of_user(value)]
    return frozenset(found)


def _mentioned(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _mentioned(constant)
        elif isinstance(constant, tuple) and all(isinstance(each, str) for each in constant):
            yield from (f"{each}=" for each in constant)
    if any(each.argrepr in ("@", "@=") or "MATRIX" in each.opname for each in dis.get_instructions(code)):
        yield MATRIX_PRODUCT


def _values(function: FunctionType, names: set[str]) -> Iterator[tuple[str, Any]]:
    """What the names of a function stand for outside of it, and in modules of the user that it names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    for name in names:
        value = around.get(name, function.__globals__.get(name))
        yield name, value
        if isinstance(value, ModuleType) and not _is_library(value.__name__):
            yield from ((f"{name}.{each}", vars(value).get(each)) for each in names)


def _methods(cls: type, names: set[str]) -> list[Any]:
    """Methods and properties of these names; those of the class itself, and of its bases if it asks for them."""
    found = []
    for name in names:
        for each in cls.__mro__:
            if each is nn.Module or each.__module__ == _MODEL_CLASS:
                break
            member = vars(each).get(name)
            if member is not None:
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                found.append(inspect.unwrap(function) if callable(function) else function)
                if "super" not in names:
                    break
    return [each for each in found if isinstance(each, FunctionType)]


def _is_of_user(value: Any) -> bool:
    return isinstance(value, FunctionType) and not _is_library(value.__module__ or "")


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARIES


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (an empty cell raises)
    except ValueError:
        return False
    return True
