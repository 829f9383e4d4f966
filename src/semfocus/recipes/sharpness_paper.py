"""sharpness_paper: the controls of `sharpness` at the paper's setting."""

from semfocus.recipes.arms import compare
from semfocus.recipes.sharpness import ARMS, QUESTION
from semfocus.recipes.temperature import TASKS
from semfocus.runs import RunSpec
from semfocus.studies.probe_plan import Probing

__all__ = ["FIGURE", "PROBES", "QUESTION", "specs"]

FIGURE = "ours: sparsity or sharpness, with controls"
PROBES = Probing(epochs=("0", "last"), every=10)


def specs() -> list[RunSpec]:
    """The paper's setting and seeds; most runs without a control are among those of `temperature`."""
    return [spec for task in TASKS for spec in compare({"task": task}, ARMS)]
