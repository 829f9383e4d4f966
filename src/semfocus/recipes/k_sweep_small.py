"""k_sweep_small: from one kept key to all sixteen, on two tasks and on majorities of few and of many tokens."""

from semfocus.recipes import small
from semfocus.recipes.arms import compare
from semfocus.recipes.k_sweep import PROBES, QUESTION
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

__all__ = ["FIGURE", "PROBES", "QUESTION", "specs"]

FIGURE = "ours: expressivity against stability, scaled down"

SIZES = (1, 3, 5, 9, 13, 16)
ARMS = ("full", *(f"top_k({k})" for k in SIZES))
TASKS = (
    "even_pairs",
    "missing_duplicate",
    *(f"marked_majority({m})" for m in (1, 5, 13)),
)


def specs() -> list[RunSpec]:
    """At the setting of `small`, three seeds."""
    return [
        spec for task in TASKS for spec in compare({"task": task, **small.SETTING}, ARMS, PAPER_SEEDS[:3])
    ]
