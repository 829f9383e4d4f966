"""as_released: `curves` with the known defects of the authors' released code; see docs/deviations.md."""

from typing import Any

from semfocus.recipes.arms import ARMS, compare
from semfocus.runs import RunSpec
from semfocus.runs.paper_settings import PAPER_TASKS

QUESTION = "Do the defects of the released code change the comparison?"
FIGURE = "figures 1, 7, 8 (proceedings), as the authors' code computes them"

DEFECTS = {
    "attention_dropout_in_evaluation": True,
    "padding_takes_part": True,
    "pad_to_multiple": 5,  # the mask size
    "first_norm_eps": 0.0,
}


def specs() -> list[RunSpec]:
    """Dropout in evaluation, padding that takes part, no epsilon in the first norm, a lost sample in ListOps.

    That a NaN loss ends the program with status 0 is not reproduced: such a run is recorded as diverged.
    """
    return [spec for task in PAPER_TASKS for spec in compare(_base(task), ARMS)]


def _base(task: str) -> dict[str, Any]:
    lost = {"training": {"drop_samples_per_epoch": 1}} if task == "listops" else {}
    return {"task": task, "model": DEFECTS, **lost}
