"""depth: the number of blocks."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec

QUESTION = "Does the comparison depend on the number of blocks?"
FIGURE = "figure 6 (preprint); figure 3a (proceedings)"

#: the paper's 6, 10, 15, 22 on listops; the same proportions of 5 on a task of length 40
BLOCKS = {"listops": [6, 10, 15, 22], "even_pairs": [3, 5, 8, 11]}


def specs(task: str = "listops") -> list[RunSpec]:
    """All else at the paper's setting of the task."""
    return compare({"task": task}, ABLATION_ARMS, model__num_blocks=BLOCKS[task])
