"""Comparisons at the paper's size and scaled-down ones: a claim is judged on each apart."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary

PAPER_SIZE = "the paper's size"
SCALED_DOWN = "scaled-down setting"
RULE = (
    "Scaled-down runs (shorter, narrower, fewer samples or epochs than the paper's) are judged apart from those of the paper's size; "
    "where these decide nothing, a verdict of the scaled-down ones is marked as such."
)
_SIZES = (
    *("training.length", "training.num_train", "training.num_held_out", "training.epochs"),
    *("model.d_model", "model.d_mlp"),
)


def by_size(summaries: Sequence["TaskSummary"]) -> list[tuple[str, list["TaskSummary"]]]:
    """The paper's size first; one of the two may be empty."""
    small = [each for each in summaries if is_scaled_down(each)]
    return [(PAPER_SIZE, [each for each in summaries if each not in small]), (SCALED_DOWN, small)]


def is_scaled_down(summary: "TaskSummary") -> bool:
    """Whether the runs have less of anything that makes a task large."""
    from semfocus.studies.setting import paper_setting

    comparison = summary.comparison
    changed = [key for key in _SIZES if key in comparison.setting]
    paper = paper_setting(comparison.task) if changed else {}
    return any(_largest(comparison.setting[key]) < _largest(paper.get(key)) for key in changed)


def _largest(value: Any) -> float:
    """Of a range its end; what is no number is no size."""
    if isinstance(value, list | tuple):
        return max(map(_largest, value), default=0.0)
    return float(value) if isinstance(value, int | float) else 0.0
