"""Studies: many runs, compared."""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports
from semfocus.studies.grid import grid, put

if TYPE_CHECKING:
    from semfocus.runs import RunSpec
    from semfocus.studies.execution import run_study

__all__ = ["RunSpec", "grid", "put", "run_study"]

# Lazy, so that comparing records need not wait for torch; `grid` is also the name of a module, and is not.
__getattr__, __dir__ = lazy_exports(
    __name__, {"RunSpec": "semfocus.runs", "run_study": "semfocus.studies.execution"}
)
