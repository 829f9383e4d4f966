"""Sequences of one length, to be trained on and held out."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

#: `pairs`: a text and the text to write for it
DataKind = Literal["text", "classification", "pairs"]
#: in place of a target where a shorter one has ended
NO_TARGET = -100


@dataclass(frozen=True)
class Batch:
    """Sequences (num, length); `real` is False at padding (None: there is none); `labels` (num,) are classes.

    `targets` (num, another length) are sequences to write, with NO_TARGET after the end of each.
    """

    tokens: Tensor
    real: Tensor | None = None
    labels: Tensor | None = None
    targets: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def num_predicted(self) -> int:
        """What the mean loss is a mean over: tokens of targets, else rows, which are of one length or have
        one label.
        """
        return len(self) if self.targets is None else int((self.targets != NO_TARGET).sum())

    def rows(self, rows: Tensor | slice) -> "Batch":
        return Batch(*(None if each is None else each[rows] for each in self._tensors))  # type: ignore[arg-type]

    def first(self, length: int) -> "Batch":
        """The first tokens of each row, which must all be real there."""
        return Batch(self.tokens[:, :length], None, self.labels)

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(None if each is None else each.to(device) for each in self._tensors))  # type: ignore[arg-type]

    @property
    def _tensors(self) -> tuple[Tensor | None, ...]:
        return self.tokens, self.real, self.labels, self.targets


@dataclass(frozen=True)
class TrialData:
    """Training and held-out sequences, the same for every arm and seed."""

    kind: DataKind
    train: Batch
    held_out: Batch
    classes: tuple[str, ...]
    digest: str
    description: str

    @property
    def longest(self) -> int:
        of_targets = 0 if self.train.targets is None else self.train.targets.shape[1]
        return max(self.train.tokens.shape[1], of_targets)

    def guess_accuracy(self, most: int) -> float | None:
        """That of the most frequent label of training for every held-out sequence of a look; None without labels."""
        if self.train.labels is None or self.held_out.labels is None:
            return None
        label = self.train.labels.bincount().argmax()
        return float((self.held_out.labels[:most] == label).double().mean())

    @property
    def guess_loss(self) -> float:
        """The held-out loss of a model that knows only how frequent classes, or single tokens, were in training."""
        train, held_out = (_predicted(part) for part in (self.train, self.held_out))
        size = 1 + int(max(train.max(), held_out.max()))
        counts = torch.bincount(train.flatten(), minlength=size).double() + 1  # nothing is impossible
        return float(-(counts / counts.sum()).log()[held_out].mean())


def _predicted(batch: Batch) -> Tensor:
    if batch.targets is not None:
        return batch.targets[batch.targets != NO_TARGET]
    return batch.tokens[:, 1:] if batch.labels is None else batch.labels
