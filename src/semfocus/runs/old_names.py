"""Where version 0.1 had names that recipe files import: read with a deprecation warning throughout 0.2."""

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_ROOM = "semfocus.studies"
#: module -> name -> where it is now
_OLD_MODULES: Mapping[str, Mapping[str, tuple[str, str]]] = {
    f"{_ROOM}.probe_plan": {"Probing": ("semfocus.measurements", "Inside")},
    f"{_ROOM}.landscape": {},
    f"{_ROOM}.landscape.options": {"LandscapeOptions": ("semfocus.measurements", "Landscape")},
}


@contextmanager
def old_modules() -> Iterator[None]:
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
