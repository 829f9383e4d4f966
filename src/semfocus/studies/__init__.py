"""Studies: many runs, compared."""

from typing import TYPE_CHECKING

from semfocus.execution.progress import StudyWatcher
from semfocus.lazy import lazy_exports
from semfocus.studies.grid import grid, put  # not lazy: the file has the function's name

if TYPE_CHECKING:
    from semfocus.runs.spec import RunSpec
    from semfocus.studies.execution import run_study

__all__ = ["RunSpec", "StudyWatcher", "grid", "put", "run_study"]

# Lazy, so that statistics of records need not wait for torch.
__getattr__, __dir__ = lazy_exports(
    __name__, {"RunSpec": "semfocus.runs.spec", "run_study": "semfocus.studies.execution"}
)
