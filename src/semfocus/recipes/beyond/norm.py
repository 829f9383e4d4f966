"""norm: LayerNorm before each part (the paper's experiments) or after it (the paper's formulas)."""

from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.recipes.beyond.controls import TASKS
from semfocus.runs import RunSpec

QUESTION = "Does the comparison depend on where the LayerNorm stands?"
FIGURE = "ours: the paper's text against its code"


def specs() -> list[RunSpec]:
    """All else at the paper's setting."""
    return [spec for task in TASKS for spec in compare({"task": task}, FEW_ARMS, model__norm=["pre", "post"])]
