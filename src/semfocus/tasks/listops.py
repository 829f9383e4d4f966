"""ListOps: the value of nested list operations on digits."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from semfocus.tasks.listops_trees import CLOSE, MAX, MED, MIN, SM, draw_trees, length_distribution
from semfocus.tasks.task import Task


@dataclass(frozen=True)
class ListOps(Task):
    """MIN, MAX, MED (median, truncated to an integer) and SM (sum modulo 10).

        [MAX 7 1 [MIN 3 2 ] ]     MIN(3, 2) = 2; MAX(7, 1, 2) = 7
        [MED 1 2 9 8 ]            median of 1 2 8 9 is 5
        [SM 8 9 ]                 17 mod 10 = 7

    Trees follow the distribution of the usual generator (depth at most 10, 2 to 10 arguments),
    conditional on their length; see `listops_trees`.

    >>> ListOps().label(ListOps().tokens_of("[MAX 7 1 [MIN 3 2 ] ]").unsqueeze(0)).tolist()
    [7]
    """

    name = "listops"
    symbols = (*"0123456789", "[MIN", "[MAX", "[MED", "[SM", "]")
    num_classes = 10
    paper_length = (501, 599)
    chance_accuracy = 0.1615  # class 0: computed exactly by the tests; 0.162 over 200,000 samples
    distinct = True

    def allows_length(self, length: int) -> str | None:
        return None if length == 1 or length >= 4 else "a length of 1, or of at least 4"

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return self.draw_rows(torch.full((num,), length), length, generator)

    def draw_lengths(self, num: int, low: int, high: int, generator: torch.Generator) -> Tensor:
        """Lengths with the probabilities that the usual generator gives them inside the range."""
        weights = torch.from_numpy(length_distribution(high).root[low:].copy())
        return low + weights.multinomial(num, replacement=True, generator=generator)

    def draw_rows(self, lengths: Tensor, width: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        source = np.random.default_rng(int(torch.randint(2**62, (), generator=generator)))
        tokens, values = draw_trees(lengths.numpy(), width, self.pad_id, source)
        return torch.from_numpy(tokens), torch.from_numpy(values)

    def label_row(self, row: list[int]) -> int:
        open_: list[list[int]] = [[]]
        for token in row:
            if token >= MIN and token != CLOSE:
                open_.append([token])
            elif token == CLOSE:
                operator, *values = open_.pop()
                open_[-1].append(_apply(operator, values))
            else:
                open_[-1].append(token)
        return open_[0][0]


def _apply(operator: int, values: list[int]) -> int:
    if operator == MIN:
        return min(values)
    if operator == MAX:
        return max(values)
    if operator == SM:
        return sum(values) % 10
    assert operator == MED, operator
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) // 2
