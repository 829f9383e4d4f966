"""landscape: the loss surfaces around trained models."""

from semfocus.recipes.arms import FEW_ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS
from semfocus.studies.landscape.options import LandscapeOptions

QUESTION = "Is the loss surface of top-k attention flatter?"
FIGURE = "figure 10 (preprint); figures 5, 23-27 (proceedings)"

LANDSCAPES = LandscapeOptions()


def specs() -> list[RunSpec]:
    """One seed; the runs are among those of `curves`."""
    return [spec for task in PAPER_TASKS for spec in compare({"task": task}, FEW_ARMS, PAPER_SEEDS[:1])]
