"""Sequences of one length, to be trained on and held out."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

DataKind = Literal["text", "classification"]


@dataclass(frozen=True)
class Batch:
    """Sequences (num, length); `real` is False at padding (None: there is none); `labels` (num,) are classes."""

    tokens: Tensor
    real: Tensor | None = None
    labels: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, rows: Tensor | slice) -> "Batch":
        return Batch(
            self.tokens[rows],
            None if self.real is None else self.real[rows],
            None if self.labels is None else self.labels[rows],
        )

    def first(self, length: int) -> "Batch":
        """The first tokens of each row, which must all be real there."""
        return Batch(self.tokens[:, :length], None, self.labels)

    def to(self, device: torch.device) -> "Batch":
        real, labels = (None if each is None else each.to(device) for each in (self.real, self.labels))
        return Batch(self.tokens.to(device), real, labels)


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
        return self.train.tokens.shape[1]

    def guess_accuracy(self, most: int) -> float | None:
        """That of the most frequent label of training for every held-out sequence of a look; None without labels."""
        if self.train.labels is None or self.held_out.labels is None:
            return None
        label = self.train.labels.bincount().argmax()
        return float((self.held_out.labels[:most] == label).double().mean())

    @property
    def guess_loss(self) -> float:
        """The held-out loss of a model that knows only how frequent classes, or single tokens, were in training."""
        train, held_out = (
            part.tokens[:, 1:] if part.labels is None else part.labels for part in (self.train, self.held_out)
        )
        size = 1 + int(max(train.max(), held_out.max()))
        counts = torch.bincount(train.flatten(), minlength=size).double() + 1  # nothing is impossible
        return float(-(counts / counts.sum()).log()[held_out].mean())
