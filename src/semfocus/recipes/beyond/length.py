"""length: train at length 40, then evaluate up to length 500."""

from semfocus.measurements import Lengths
from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.recipes.beyond.controls import TASKS
from semfocus.runs import RunSpec

QUESTION = "Which attention still answers correctly on longer sequences than it was trained on?"
FIGURE = "ours: length generalisation"
MEASURE = [Lengths()]


def specs() -> list[RunSpec]:
    """The paper's setting of the tasks on which full attention generalises; the runs are among those of `curves`."""
    return [spec for task in TASKS for spec in compare({"task": task}, FEW_ARMS)]
