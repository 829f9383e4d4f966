"""learning_rate: the initial learning rate."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec

QUESTION = "Does the comparison depend on the initial learning rate?"
FIGURE = "figure 7 (preprint); figure 3c (proceedings)"

#: the paper's on listops; the same proportions of 0.1 on a task of length 40
RATES = {"listops": [0.66, 1.0, 1.5, 2.25], "even_pairs": [0.066, 0.1, 0.15, 0.225]}


def specs(task: str = "listops") -> list[RunSpec]:
    """All else at the paper's setting of the task."""
    return compare({"task": task}, ABLATION_ARMS, training__learning_rate=RATES[task])
