"""adam: Adam instead of SGD, at four learning rates."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec

QUESTION = "Does the comparison depend on the optimiser?"
FIGURE = "figure 8 (preprint); figure 3e (proceedings)"


def specs(task: str = "listops") -> list[RunSpec]:
    """All else at the paper's setting of the task; SGD is in `curves`."""
    base = {"task": task, "training": {"optimiser": "adam", "learning_rate_decay": 0.99999}}
    return compare(base, ABLATION_ARMS, training__learning_rate=[1e-5, 1e-4, 1e-3, 1e-2])
