"""Even pairs: is the number of unequal neighbours odd?"""

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class EvenPairs(Task):
    """The number of neighbours 01 or 10, mod 2; the same as "first and last differ".

        0 1 1 0 1     changes at 01, 10, 01: three, 1    (first 0, last 1)
        1 0 0 1       changes at 10, 01:     two,   0    (first 1, last 1)

    >>> EvenPairs().label(EvenPairs().tokens_of("0 1 1 0 1").unsqueeze(0)).tolist()
    [1]
    """

    name = "even_pairs"
    symbols = ("0", "1")
    num_classes = 2
    chance_accuracy = 0.5

    def allows_length(self, length: int) -> str | None:
        return at_least(1, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(2, (num, length), generator=generator)
        return tokens, (tokens[:, 0] != tokens[:, -1]).long()

    def label_row(self, row: list[int]) -> int:
        changes = sum(left != right for left, right in pairwise(row))
        return changes % 2

    def relevant(self, tokens: Tensor) -> Tensor:
        real = self.real(tokens)
        last = real.sum(1, keepdim=True) - 1
        position = torch.arange(tokens.shape[1], device=tokens.device)
        return (position == 0) | (position == last)
