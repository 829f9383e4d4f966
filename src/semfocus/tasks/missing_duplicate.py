"""Missing duplicate: which bit was overwritten in a string written twice?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task


@dataclass(frozen=True)
class MissingDuplicate(Task):
    """A bit string of length L/2 written twice, with one position overwritten by `?` (token 2).

        0 1 1 0 ? 1   =  0 1 1  twice, the fifth is missing; its twin is the second: 1
        0 ? 1 0 1 1   =  0 1 1  twice, the second is missing; its twin is the fifth: 1

    >>> MissingDuplicate().label(MissingDuplicate().tokens_of("0 ? 1 0 1 1").unsqueeze(0)).tolist()
    [1]
    """

    name = "missing_duplicate"
    symbols = ("0", "1", "?")
    num_classes = 2
    chance_accuracy = 0.5

    def allows_length(self, length: int) -> str | None:
        return None if length >= 2 and length % 2 == 0 else "an even length of at least 2"

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        string = torch.randint(2, (num, length // 2), generator=generator)
        tokens = string.repeat(1, 2)
        missing = torch.randint(length, (num, 1), generator=generator)
        labels = tokens.gather(1, missing).squeeze(1)
        return tokens.scatter(1, missing, 2), labels

    def label_row(self, row: list[int]) -> int:
        half = len(row) // 2
        return next(
            max(first, second) - 2 or min(first, second)
            for first, second in zip(row[:half], row[half:], strict=True)
            if 2 in (first, second)
        )

    def relevant(self, tokens: Tensor) -> Tensor:
        """The overwritten place and its twin."""
        half = self.real(tokens).sum(1, keepdim=True) // 2
        missing = (tokens == 2).long().argmax(1, keepdim=True)
        twin = torch.where(missing < half, missing + half, missing - half)
        position = torch.arange(tokens.shape[1], device=tokens.device)
        return (position == missing) | (position == twin)
