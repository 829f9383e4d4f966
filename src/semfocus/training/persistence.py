"""The observers that make a run durable: journal and checkpoints."""

from dataclasses import asdict
from time import monotonic

import torch
from torch import nn

from semfocus.runs.checkpoints import Checkpoint, Tensors, save_checkpoint
from semfocus.runs.directory import RunDirectory
from semfocus.runs.record import held_out_score
from semfocus.training.observers import EpochResult, Observer
from semfocus.training.optimiser import optimiser_tensors

#: how many generations of the last checkpoint are kept, in case the newest is damaged
GENERATIONS = 2


class JournalKeeper(Observer):
    """One line in the journal for each epoch."""

    def __init__(self, directory: RunDirectory) -> None:
        self.directory = directory

    def epoch_ended(self, result: EpochResult) -> None:
        self.directory.note("epoch", **asdict(result))


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
            save_checkpoint(self.directory.checkpoints, "best", self.unsaved_best, keep=1)
            self.unsaved_best = None
        if self.unsaved_last is not None:
            save_checkpoint(self.directory.checkpoints, "last", self.unsaved_last, keep=GENERATIONS)
            self.unsaved_last = None
        self.saved_at = monotonic()


def _copies(tensors: Tensors) -> Tensors:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}
