"""Parity: is the number of ones odd?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class Parity(Task):
    """Every token decides.

        0 1 1 0 1     three ones: 1
        1 0 0 1 0     two ones:   0

    >>> Parity().label(Parity().tokens_of("0 1 1 0 1").unsqueeze(0)).tolist()
    [1]
    """

    name = "parity"
    symbols = ("0", "1")
    num_classes = 2
    chance_accuracy = 0.5

    def allows_length(self, length: int) -> str | None:
        return at_least(1, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(2, (num, length), generator=generator)
        return tokens, tokens.sum(1) % 2

    def label_row(self, row: list[int]) -> int:
        odd = 0
        for bit in row:
            odd ^= bit
        return odd

    def relevant(self, tokens: Tensor) -> Tensor:
        return self.real(tokens)
