"""Marked pair: do the two marked bits differ?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class MarkedPair(Task):
    """Random bits, two of them marked, anywhere: even_pairs with its two bits found by content and not by position.

        0 1* 1 0* 0 1     marked: 1 0, they differ, 1
        1* 0 0 1 1* 0     marked: 1 1, they do not, 0

    >>> MarkedPair().label(MarkedPair().tokens_of("0 1* 1 0* 0 1").unsqueeze(0)).tolist()
    [1]
    """

    name = "marked_pair"
    symbols = ("0", "1", "0*", "1*")
    num_classes = 2
    chance_accuracy = 0.5

    def allows_length(self, length: int) -> str | None:
        return at_least(2, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        bits = torch.randint(2, (num, length), generator=generator)
        places = torch.rand(num, length, generator=generator).argsort(1)[:, :2]
        marked = bits.gather(1, places)
        return bits.scatter_add(1, places, torch.full_like(places, 2)), (marked[:, 0] != marked[:, 1]).long()

    def label_row(self, row: list[int]) -> int:
        return int(row.count(3) == 1)

    def relevant(self, tokens: Tensor) -> Tensor:
        return self.real(tokens) & (tokens >= 2)
