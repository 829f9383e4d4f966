"""What the training loop tells those who watch it, and the observers that make a run durable."""

from dataclasses import asdict, dataclass
from time import monotonic
from typing import TYPE_CHECKING

import torch
from torch import nn

from semfocus.runs.checkpoints import Checkpoint, Tensors, save_checkpoint
from semfocus.runs.directory import RunDirectory
from semfocus.runs.outcome import held_out_score
from semfocus.training.evaluation import evaluate
from semfocus.training.optimiser import optimiser_tensors

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
    gradient_norm: float | None = None  # see loop.Steps; None where nothing was trained
    clipped_share: float | None = None


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


#: how many generations of the last checkpoint are kept, in case the newest is damaged
GENERATIONS = 2


class JournalKeeper(Observer):
    """One line in the journal for each epoch, with the training accuracy between its steps where that is asked for."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.steps: list[dict[str, float]] = []

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        spec, step = self.attempt.spec, (epoch - 1) * num_batches + batch
        if spec.training.evaluate_every is not None and step % spec.training.evaluate_every == 0:
            seen = evaluate(
                self.attempt.model, self.attempt.data.train, spec.seed, step, "evaluation of a step"
            )
            self.steps.append({"step": step, "train_accuracy": seen.accuracy})

    def epoch_ended(self, result: EpochResult) -> None:
        steps = {"steps": self.steps} if self.steps else {}
        self.attempt.directory.note("epoch", **asdict(result), **steps)
        self.steps = []


class CheckpointKeeper(Observer):
    """The last state (two generations) and the best weights, at most once in `seconds`, and at the end.

    Epochs after the last checkpoint are trained again on resuming, with the same result.
    """

    def __init__(
        self,
        directory: RunDirectory,
        model: nn.Module,
        optimiser: torch.optim.Optimizer,
        best_score: float,
        seconds: float,
        by_loss: bool = False,
    ) -> None:
        self.directory = directory
        self.model = model
        self.optimiser = optimiser
        self.best_score = best_score
        self.by_loss = by_loss
        self.seconds = seconds
        self.saved_at = monotonic()
        self.unsaved_best: Checkpoint | None = None
        self.unsaved_last: Checkpoint | None = None

    def epoch_ended(self, result: EpochResult) -> None:
        # Copies: when the run is interrupted or diverges, the model is already in the next epoch.
        model = _copies(self.model.state_dict())
        memory = _copies(optimiser_tensors(self.optimiser))
        self.unsaved_last = Checkpoint(
            result.epoch, {"model": model, "optimiser": memory} if memory else {"model": model}
        )
        score = held_out_score(asdict(result), self.by_loss)
        if score > self.best_score:
            self.best_score = score
            self.unsaved_best = Checkpoint(result.epoch, {"model": model})
        if result.epoch == 0 or monotonic() - self.saved_at >= self.seconds:
            self.save()

    def save(self) -> None:
        """Write what is not yet on disk: the best weights first, so that the last state never lacks them."""
        if self.unsaved_best is not None:
            self._save("best", self.unsaved_best, keep=1)
            self.unsaved_best = None
        if self.unsaved_last is not None:
            self._save("last", self.unsaved_last, keep=GENERATIONS)
            self.unsaved_last = None
        self.saved_at = monotonic()

    def _save(self, kind: str, checkpoint: Checkpoint, keep: int) -> None:
        save_checkpoint(self.directory.checkpoints, kind, checkpoint, keep, self.directory.check_owner)


def _copies(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
