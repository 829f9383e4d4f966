"""Studies: many runs, compared."""

from semfocus.runs import RunSpec
from semfocus.studies.execution import run_study
from semfocus.studies.grid import grid, put

__all__ = ["RunSpec", "grid", "put", "run_study"]
