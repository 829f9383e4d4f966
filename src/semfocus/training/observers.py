"""What the training loop tells those who watch it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from semfocus.model import Classifier
    from semfocus.runs import RunDirectory, RunSpec
    from semfocus.tasks import Dataset


@dataclass(frozen=True)
class EpochResult:
    """Loss and accuracy on the whole training and held-out set after an epoch; epoch 0 is untrained."""

    epoch: int
    learning_rate: float
    train_loss: float
    train_accuracy: float
    held_out_loss: float
    held_out_accuracy: float
    train_seconds: float
    evaluation_seconds: float
    gradient_norm: float | None = None  # mean over the steps, before clipping; None where nothing was trained
    clipped_share: float | None = None  # of the steps whose gradient was scaled down


@dataclass(frozen=True)
class Attempt:
    """What a run computes with, for those who measure; `directory` is owned by the process that trains."""

    spec: "RunSpec"
    directory: "RunDirectory"
    model: "Classifier"
    data: "Dataset"


class Observer:
    """Override what you want to hear; everything else is silence."""

    def prepared(self, attempt: Attempt) -> None:
        """Model and data are there, restored from a checkpoint or new. Whoever measures must change nothing."""

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        """Training is about to begin at `first_epoch`."""

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        """`batch` of `num_batches` is done, counting from 1."""

    def epoch_ended(self, result: EpochResult) -> None:
        """An epoch was trained and evaluated."""

    def run_ended(self) -> None:
        """Training is over, by success or by an exception."""
