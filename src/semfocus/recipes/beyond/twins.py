"""twins: the same run with one training sample replaced, step by step beside it."""

from semfocus.measurements import Twins
from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import small
from semfocus.recipes.beyond.temperature import TASKS
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = "Does one training sample change a model with top-k attention less than one with full attention?"
FIGURE = "ours: distance of twin runs along training"
MEASURE = [Twins()]

ARMS = ("full", "full x10", "banded(5)", "top_k(5)")


def specs() -> list[RunSpec]:
    """Runs of `small`; the twins, which no other study needs, are trained beside them and leave only distances."""
    return [
        spec for task in TASKS for spec in compare({"task": task, **small.SETTING}, ARMS, PAPER_SEEDS[:5])
    ]
