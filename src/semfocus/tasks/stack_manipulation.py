"""Stack manipulation: what lies on top after some pushes and pops?"""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.task import Task, at_least

POP, PUSH_0, PUSH_1 = 2, 3, 4
EMPTY = 2


@dataclass(frozen=True)
class StackManipulation(Task):
    """A stack of bits, bottom to top, then actions; pop on an empty stack is ignored.

        0 1 pop push1       stack 0 1 -> 0 -> 0 1:    top is 1
        1 pop pop           stack 1 -> empty:         2
        0 1 push0 pop pop   0 1 -> 0 1 0 -> 0 1 -> 0: top is 0

    >>> StackManipulation().label(StackManipulation().tokens_of("0 1 push0 pop pop").unsqueeze(0)).tolist()
    [0]
    """

    name = "stack_manipulation"
    symbols = ("0", "1", "pop", "push0", "push1")
    num_classes = 3
    chance_accuracy = 0.4999  # computed exactly by the tests

    def allows_length(self, length: int) -> str | None:
        return at_least(2, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        height = torch.randint(1, length, (num, 1), generator=generator)
        bits = torch.randint(2, (num, length), generator=generator)
        actions = torch.randint(2, 5, (num, length), generator=generator)
        in_stack = torch.arange(length) < height
        tokens = torch.where(in_stack, bits, actions)
        return tokens, self._run(tokens, in_stack)

    def _run(self, tokens: Tensor, in_stack: Tensor) -> Tensor:
        """All stacks side by side, one step at a time; cell 0 is the floor."""
        num, length = tokens.shape
        cells = torch.full((num, length + 1), EMPTY)
        height = torch.zeros(num, dtype=torch.int64)
        rows = torch.arange(num)
        for step in range(length):
            token = tokens[:, step]
            pops = ~in_stack[:, step] & (token == POP)
            height = torch.where(pops, (height - 1).clamp(min=0), height + 1)
            pushed = torch.where(in_stack[:, step], token, token - PUSH_0)
            cells[rows, height] = torch.where(pops, cells[rows, height], pushed)
        return cells[rows, height]

    def label_row(self, row: list[int]) -> int:
        decider = self._decider(row)
        if decider is None:
            return EMPTY
        return row[decider] - PUSH_0 if row[decider] >= PUSH_0 else row[decider]

    @staticmethod
    def _decider(row: list[int]) -> int | None:
        """Where the final top came from: read backwards, the first push that no later pop took away."""
        pops = 0
        for position in reversed(range(len(row))):
            if row[position] == POP:
                pops += 1
            elif pops:
                pops -= 1
            else:
                return position
        return None

    def relevant(self, tokens: Tensor) -> Tensor:
        """The element that ends on top with all that follows it; every token if the stack ends empty."""
        relevant = self.real(tokens)
        for row, real in zip(tokens.tolist(), relevant, strict=True):
            real[: self._decider(row[: int(real.sum())]) or 0] = False
        return relevant
