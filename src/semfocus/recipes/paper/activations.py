"""activations: the curves with GELU and Mish in the MLP."""

from semfocus.recipes.arms import ABLATION_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_TASKS

QUESTION = "Does the comparison depend on the activation of the MLP?"
FIGURE = "figures 4, 5 (preprint); figures 2, 13-18 (proceedings)"

ARMS = ("full", "full x4", "banded(5)", "block_local(5)", "top_k(5)")


def specs() -> list[RunSpec]:
    """GELU and Mish; ReLU is in `curves`."""
    return [
        spec
        for task in PAPER_TASKS
        for spec in compare({"task": task}, ARMS, model__activation=["gelu", "mish"])
    ]


def of_three(task: str) -> list[RunSpec]:
    """ReLU among them, in the arms of the other ablations."""
    return compare({"task": task}, ABLATION_ARMS, model__activation=["relu", "gelu", "mish"])
