"""small: all eight tasks at one fixed, scaled-down setting."""

from typing import Any

from semfocus.recipes.arms import ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS, PAPER_TASKS

QUESTION = "Which attention learns in fewer epochs on each of the eight tasks, scaled down?"
FIGURE = "ours: figures 1, 7, 8 (proceedings) scaled down"

SETTING: dict[str, Any] = {
    "model": {"num_blocks": 2, "d_model": 32, "d_mlp": 32},
    "training": {
        "length": 16,
        "num_train": 2000,
        "num_held_out": 1000,
        "epochs": 40,
        "learning_rate": 0.2,
        "learning_rate_decay": 1.0,
    },
}


def specs() -> list[RunSpec]:
    """Every task at the same setting, five seeds."""
    return [
        spec for task in PAPER_TASKS for spec in compare({"task": task, **SETTING}, ARMS, PAPER_SEEDS[:5])
    ]
