"""mask_sizes: masks of 5 and 9 keys, with 0, 1 and 3 global tokens."""

from semfocus.recipes.arms import compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_TASKS

QUESTION = "Do larger masks or global tokens let input-agnostic patterns catch up?"
FIGURE = "extended results (proceedings)"

SIZES, GLOBALS = (5, 9), ("", "+G1", "+G3")
ARMS = (
    "full",
    "full x4",
    *(f"{name}({size}){extra}" for name in ("banded", "block_local") for size in SIZES for extra in GLOBALS),
    *(f"top_k({size})" for size in SIZES),
    "top_k(5)+G1",  # ours: the global token as a sink
)


def specs() -> list[RunSpec]:
    """The paper's setting of each task."""
    return [spec for task in PAPER_TASKS for spec in compare({"task": task}, ARMS)]
