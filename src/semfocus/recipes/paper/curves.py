"""curves: learning curves of every kind of attention on the paper's eight tasks."""

from semfocus.recipes.arms import ARMS, CONTRASTS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_TASKS

__all__ = ["CONTRASTS", "FIGURE", "QUESTION", "specs"]

QUESTION = "Which attention learns in fewer epochs, and which generalises, at the paper's setting?"
FIGURE = "figure 2 (preprint); figures 1, 7, 8 (proceedings)"


def specs() -> list[RunSpec]:
    """The paper's setting of each task; the sharper arms are ours."""
    return [spec for task in PAPER_TASKS for spec in compare({"task": task}, ARMS)]
