"""dispersion: the scores that the softmax sees, in every trained model and under other patterns on the same scores."""

from semfocus.measurements import Inside
from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import small
from semfocus.recipes.variant import Variant
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS

QUESTION = "Does top-k attention see less dispersed scores, and does it learn faster where it does?"
FIGURE = "table 6 (proceedings), for all tasks"

ARMS = ("full", "full x4", "full x10", "banded(5)", "block_local(5)", "top_k(5)")
MEASURE = [Inside(epochs=("0", "last"), patterns=("top_k(5)", "banded(5)", "block_local(5)"))]


def specs() -> list[RunSpec]:
    """All tasks, three seeds; the runs are among those of `curves`."""
    return [spec for task in PAPER_TASKS for spec in compare({"task": task}, ARMS, PAPER_SEEDS[:3])]


def small_specs() -> list[RunSpec]:
    """Runs of `small`, five seeds."""
    return [
        spec
        for task in PAPER_TASKS
        for spec in compare({"task": task, **small.SETTING}, ARMS, PAPER_SEEDS[:5])
    ]


SMALL = Variant(QUESTION, "ours: table 6 (proceedings), for all tasks, scaled down", small_specs, MEASURE)
