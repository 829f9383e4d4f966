"""pretrain_finetune: blocks that first learned text, then a task; full or top-k attention in each phase."""

from typing import Any

from semfocus.recipes.arms import compare
from semfocus.recipes.beyond import language_small, quick
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_SEEDS

QUESTION = (
    "Is a task learned faster after pre-training, and does it matter which attention was used in which phase?"
)
FIGURE = "ours: the paper's open question on pre-training"

PATTERNS = ("full", "top_k(5)")
TEXT: dict[str, Any] = language_small.SETTING
TASK: dict[str, Any] = {**quick.SETTING, "model": TEXT["model"]}


def specs() -> list[RunSpec]:
    """On each seed the two pre-training runs, then the task from scratch and after either of them."""
    seeds = PAPER_SEEDS[:3]
    first = compare(TEXT, PATTERNS, seeds)
    starts = [
        None,
        *({"task": TEXT["task"], "pattern": each, "training": TEXT["training"]} for each in PATTERNS),
    ]
    return first + [
        spec for seed in seeds for start in starts for spec in compare(_after(start), PATTERNS, [seed])
    ]


def _after(start: dict[str, Any] | None) -> dict[str, Any]:
    return TASK if start is None else {**TASK, "pretraining": start}
