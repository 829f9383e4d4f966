"""decay: the factor on the learning rate after every epoch."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec

QUESTION = "Does the comparison depend on the decay of the learning rate?"
FIGURE = "figures 7, 8 (preprint); figure 3d (proceedings)"

#: the paper's on listops; on a task of length 40 also 0.9995, which is its usual one
DECAYS = {"listops": [0.9, 0.99, 0.999, 0.9999], "even_pairs": [0.9, 0.99, 0.999, 0.9995, 0.9999]}


def specs(task: str = "listops") -> list[RunSpec]:
    """All else at the paper's setting of the task."""
    return compare({"task": task}, ABLATION_ARMS, training__learning_rate_decay=DECAYS[task])
