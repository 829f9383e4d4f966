"""Sequences of one length, to be trained on and held out."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["text", "classification"]
#: share of a text, from its end, or of rows, that is held out
HELD_OUT_SHARE = 0.1


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

    def to(self, device: torch.device) -> "Batch":
        real, labels = (None if each is None else each.to(device) for each in (self.real, self.labels))
        return Batch(self.tokens.to(device), real, labels)


@dataclass(frozen=True)
class TrialData:
    """Training and held-out sequences, the same for every arm and seed."""

    kind: Kind
    train: Batch
    held_out: Batch
    classes: tuple[str, ...]
    digest: str
    description: str

    @property
    def longest(self) -> int:
        return self.train.tokens.shape[1]
