"""Cycle navigation: where on a ring of five does a walk end?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class CycleNavigation(Task):
    """Steps left (0), stay (1), right (2) on the ring 0 1 2 3 4, from 0.

        right right stay left     0 -> 1 -> 2 -> 2 -> 1:  1
        left left                 0 -> 4 -> 3:            3

    >>> CycleNavigation().label(CycleNavigation().tokens_of("left left").unsqueeze(0)).tolist()
    [3]
    """

    name = "cycle_navigation"
    symbols = ("left", "stay", "right")
    num_classes = 5
    chance_accuracy = 0.2

    def allows_length(self, length: int) -> str | None:
        return at_least(1, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(3, (num, length), generator=generator)
        return tokens, (tokens - 1).sum(1) % 5

    def label_row(self, row: list[int]) -> int:
        place = 0
        for step in row:
            if step == 2:
                place = 0 if place == 4 else place + 1
            elif step == 0:
                place = 4 if place == 0 else place - 1
        return place

    def relevant(self, tokens: Tensor) -> Tensor:
        return self.real(tokens)
