"""Marked majority: which bit is more frequent among the m marked ones?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class MarkedMajority(Task):
    """Random bits, m of them marked: a dial for how many dispersed signals the label needs (m against k).

        0 1* 1 0* 0 1*    marked: 1 0 1, majority 1

    >>> MarkedMajority(3).label(MarkedMajority(3).tokens_of("0 1* 1 0* 0 1*").unsqueeze(0)).tolist()
    [1]
    """

    m: int = 5

    name = "marked_majority"
    symbols = ("0", "1", "0*", "1*")
    num_classes = 2
    chance_accuracy = 0.5

    def validate(self) -> None:
        if self.m < 1 or self.m % 2 == 0:
            raise ValueError(f"marked_majority: m must be odd and at least 1, got {self.m}")

    def allows_length(self, length: int) -> str | None:
        return at_least(self.m, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        bits = torch.randint(2, (num, length), generator=generator)
        places = torch.rand(num, length, generator=generator).argsort(1)[:, : self.m]
        ones = bits.gather(1, places).sum(1)
        return bits.scatter_add(1, places, torch.full_like(places, 2)), (ones > self.m // 2).long()

    def label_row(self, row: list[int]) -> int:
        return int(row.count(3) > row.count(2))

    def relevant(self, tokens: Tensor) -> Tensor:
        return self.real(tokens) & (tokens >= 2)
