"""A user's own patterns and tasks: classes in a Python file that is named on the command line."""

import hashlib
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from semfocus.mechanisms import Pattern, register_pattern
from semfocus.tasks import Task, register_task

#: where version 0.1 had names that recipe files import: read with a deprecation warning throughout 0.2
_ROOM = "semfocus.studies"
_OLD_MODULES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    f"{_ROOM}.probe_plan": {"Probing": ("semfocus.measurements", "Inside")},
    f"{_ROOM}.landscape": {},
    f"{_ROOM}.landscape.options": {"LandscapeOptions": ("semfocus.measurements", "Landscape")},
}


def load_recipe(path: Path, what: str = "recipe file") -> tuple[ModuleType, str]:
    """Run the file, make its patterns and tasks known, and return the module with the source's digest.

    The digest becomes part of the spec of every run that uses the file. Nothing stored in a run is
    ever imported by name: whoever resumes such a run names the file again. `what` it is called in errors.
    """
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the {what} {path}: {error.strerror}") from None
    digest = hashlib.sha256(source).hexdigest()
    name = f"semfocus_recipe_{digest[:16]}"
    if name in sys.modules:
        _register_all(sys.modules[name])  # another file may have used its names since
        return sys.modules[name], digest
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        with _old_modules():
            exec(compile(source, str(path), "exec"), module.__dict__)
        _register_all(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, Exception) and not isinstance(error, ValueError):
            raise ValueError(
                f"the {what} {path} does not load: {type(error).__name__}: {error}{place_in(error, path)}"
            ) from error
        raise
    return module, digest


def place_in(error: BaseException, path: Path) -> str:
    """` (mine.py, line 12)`: the innermost line of a user's file that led to an error; nothing if none did."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    return f" ({path}, line {lines[-1]})" if lines else ""


def defines_classes(module: ModuleType) -> list[type[Pattern] | type[Task]]:
    """The patterns and tasks that a file defines itself."""
    return [
        value
        for value in list(vars(module).values())
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and issubclass(value, Pattern | Task)
    ]


def _register_all(module: ModuleType) -> None:
    for value in defines_classes(module):
        _register(value)
    for value in list(vars(module).values()):  # measurements, which this room does not know
        if (
            isinstance(value, type)
            and value.__module__ == module.__name__
            and hasattr(value, "register_again")
        ):
            value.register_again()


def _register(cls: type[Pattern] | type[Task]) -> None:
    """Make a class known, after making sure that it is complete."""
    missing = sorted(getattr(cls, "__abstractmethods__", ()))
    if missing:
        raise ValueError(f"{cls.__name__} must define {', '.join(missing)}")
    parameters = getattr(cls, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise ValueError(f"{cls.__name__} must be decorated with @dataclass(frozen=True)")
    if not isinstance(getattr(cls, "name", None), str):
        raise ValueError(f"{cls.__name__} must define its name, a string")
    if issubclass(cls, Pattern):
        register_pattern(cls)
    else:
        register_task(cls)


@contextmanager
def _old_modules() -> Iterator[None]:
    """While a recipe file is loaded, the modules of version 0.1 that it may import are there."""
    added = [name for name in _OLD_MODULES if name not in sys.modules]
    for name in added:
        sys.modules[name] = _OldModule(name, _OLD_MODULES[name])
    try:
        yield
    finally:
        for name in added:
            del sys.modules[name]


class _OldModule(ModuleType):
    """Warns, and says where its names are now."""

    def __init__(self, name: str, names: Mapping[str, tuple[str, str]]) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._names = names

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in self._names:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        room, new = self._names[name]
        warnings.warn(
            f"{self.__name__}.{name} is deprecated: it is {room}.{new}", DeprecationWarning, stacklevel=2
        )
        return getattr(import_module(room), new)
