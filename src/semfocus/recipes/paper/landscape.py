"""landscape: the loss surfaces around trained models."""

from semfocus.measurements import Landscape
from semfocus.recipes.arms import ABLATION_ARMS, FEW_ARMS, compare
from semfocus.recipes.beyond import small
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS

QUESTION = "Is the loss surface of top-k attention flatter?"
FIGURE = "figure 10 (preprint); figures 5, 23-27 (proceedings)"

MEASURE = [Landscape()]


def specs() -> list[RunSpec]:
    """One seed; the runs are among those of `curves`."""
    return [spec for task in PAPER_TASKS for spec in compare({"task": task}, FEW_ARMS, PAPER_SEEDS[:1])]


#: those that some arm of `small` learns
LEARNED = (
    "even_pairs",
    "listops",
    "missing_duplicate",
    "modular_arithmetic",
    "solve_equation",
    "stack_manipulation",
)


def small_specs() -> list[RunSpec]:
    """Runs of `small`, three seeds, on enough tasks to decide something."""
    return [
        spec
        for task in LEARNED
        for spec in compare({"task": task, **small.SETTING}, ABLATION_ARMS, PAPER_SEEDS[:3])
    ]


SMALL = Variant(
    QUESTION,
    "ours: figure 5 (proceedings), scaled down",
    small_specs,
    [Landscape(points=21, pairs=2)],
)
