"""dispersion_small: the measurements of `dispersion` in the models of `small`."""

from semfocus.recipes import small
from semfocus.recipes.arms import compare
from semfocus.recipes.dispersion import ARMS, PROBES, QUESTION
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS

__all__ = ["FIGURE", "PROBES", "QUESTION", "specs"]

FIGURE = "ours: table 6 (proceedings), for all tasks, scaled down"


def specs() -> list[RunSpec]:
    """Runs of `small`, five seeds."""
    return [
        spec
        for task in PAPER_TASKS
        for spec in compare({"task": task, **small.SETTING}, ARMS, PAPER_SEEDS[:5])
    ]
