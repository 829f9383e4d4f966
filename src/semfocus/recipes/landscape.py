"""landscape: the trained models whose loss surfaces `semfocus landscape` will draw."""

from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS

QUESTION = "Is the loss surface of top-k attention flatter? (trains the models; `semfocus landscape` draws)"
FIGURE = "figure 10 (preprint); figures 5, 23-27 (proceedings)"


def specs() -> list[RunSpec]:
    """One seed; the runs are among those of `curves`."""
    return [spec for task in PAPER_TASKS for spec in compare({"task": task}, FEW_ARMS, PAPER_SEEDS[:1])]
