"""heads: the number of attention heads, each as wide as the model."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec

QUESTION = "Does the comparison depend on the number of heads?"
FIGURE = "figure 6 (preprint); figure 3b (proceedings)"


def specs(task: str = "listops") -> list[RunSpec]:
    """All else at the paper's setting of the task."""
    return compare({"task": task}, ABLATION_ARMS, model__num_heads=[1, 2, 4, 8])
