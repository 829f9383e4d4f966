"""k_sweep: from one kept key to all forty."""

from semfocus.recipes.arms import compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import SHORT_TASKS
from semfocus.studies.probe_plan import Probing

QUESTION = "How few keys are enough, and at how many does top-k become full attention?"
FIGURE = "ours: expressivity against stability"

PROBES = Probing(epochs=("0", "last"))

SIZES = (1, 3, 5, 9, 15, 25, 39, 40)
ARMS = ("full", *(f"top_k({k})" for k in SIZES))


def specs() -> list[RunSpec]:
    """The paper's setting of the tasks of length 40."""
    return [spec for task in SHORT_TASKS for spec in compare({"task": task}, ARMS)]
