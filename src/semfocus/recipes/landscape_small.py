"""landscape_small: the loss surfaces around the models of `small`, on enough seeds and tasks to decide something."""

from semfocus.recipes import small
from semfocus.recipes.arms import compare
from semfocus.recipes.landscape import QUESTION
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS
from semfocus.studies.landscape.options import LandscapeOptions

__all__ = ["FIGURE", "LANDSCAPES", "QUESTION", "specs"]

FIGURE = "ours: figure 5 (proceedings), scaled down"

LANDSCAPES = LandscapeOptions(points=21, pairs=2)

ARMS = ("full", "full x4", "top_k(5)")
#: those that some arm of `small` learns
TASKS = (
    "even_pairs",
    "listops",
    "missing_duplicate",
    "modular_arithmetic",
    "solve_equation",
    "stack_manipulation",
)


def specs() -> list[RunSpec]:
    """Runs of `small`, three seeds."""
    return [
        spec for task in TASKS for spec in compare({"task": task, **small.SETTING}, ARMS, PAPER_SEEDS[:3])
    ]
