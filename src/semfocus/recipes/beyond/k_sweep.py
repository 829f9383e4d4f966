"""k_sweep: from one kept key to all forty."""

from semfocus.measurements import Inside
from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import small
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, SHORT_TASKS

QUESTION = "How few keys are enough, and at how many does top-k become full attention?"
FIGURE = "ours: expressivity against stability"

MEASURE = [Inside(epochs=("0", "last"))]

SIZES = (1, 3, 5, 9, 15, 25, 39, 40)
ARMS = ("full", *(f"top_k({k})" for k in SIZES))


def specs() -> list[RunSpec]:
    """The paper's setting of the tasks of length 40."""
    return [spec for task in SHORT_TASKS for spec in compare({"task": task}, ARMS)]


#: tokens that the label needs
MARKED = (1, 3, 5, 9, 15, 25, 39)


def marked_majority_specs() -> list[RunSpec]:
    """The majority of m marked bits among 40, trained as even_pairs is."""
    return [spec for m in MARKED for spec in compare({"task": f"marked_majority({m})"}, ARMS)]


MARKED_MAJORITY = Variant(
    "Does top-k attention stop helping when the label needs more than k dispersed tokens?",
    FIGURE,
    marked_majority_specs,
    MEASURE,
)

SMALL_SIZES = (1, 3, 5, 9, 13, 16)
SMALL_ARMS = ("full", *(f"top_k({k})" for k in SMALL_SIZES))
#: two tasks, and majorities of few and of many tokens
SMALL_TASKS = ("even_pairs", "missing_duplicate", *(f"marked_majority({m})" for m in (1, 5, 13)))


def small_specs() -> list[RunSpec]:
    """From one kept key to all sixteen, at the setting of `small`, three seeds."""
    return [
        spec
        for task in SMALL_TASKS
        for spec in compare({"task": task, **small.SETTING}, SMALL_ARMS, PAPER_SEEDS[:3])
    ]


SMALL = Variant(QUESTION, f"{FIGURE}, scaled down", small_specs, MEASURE)
