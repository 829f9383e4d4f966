"""Studies: many runs, compared."""

import warnings
from typing import TYPE_CHECKING, Any

from semfocus.execution.progress import Watcher
from semfocus.lazy import lazy_exports
from semfocus.studies.grid import grid, put  # not lazy: the file has the function's name

if TYPE_CHECKING:
    from semfocus.runs.spec import RunSpec
    from semfocus.studies.execution import run_study

__all__ = ["RunSpec", "Watcher", "grid", "put", "run_study"]

# Lazy, so that statistics of records need not wait for torch.
_get, __dir__ = lazy_exports(
    __name__, {"RunSpec": "semfocus.runs.spec", "run_study": "semfocus.studies.execution"}
)


def __getattr__(name: str) -> Any:
    if name == "StudyWatcher":  # the name of version 0.1
        warnings.warn("StudyWatcher is deprecated: it is Watcher", DeprecationWarning, stacklevel=2)
        return Watcher
    return _get(name)
