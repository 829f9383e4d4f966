"""Training runs: from a spec to a record."""

from semfocus.training.evaluation import Evaluation, evaluate
from semfocus.training.loop import Diverged, train
from semfocus.training.observers import Attempt, EpochResult, Observer
from semfocus.training.runner import build_model, dataset_of, run

__all__ = [
    "Attempt",
    "Diverged",
    "EpochResult",
    "Evaluation",
    "Observer",
    "build_model",
    "dataset_of",
    "evaluate",
    "run",
    "train",
]
