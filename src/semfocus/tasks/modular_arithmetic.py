"""Modular arithmetic: the value of a bracketed expression modulo 5."""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.expressions import draw_expression, evaluate
from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class ModularArithmetic(Task):
    """Digits 0-4 with + - * and brackets, as in the paper's data; the benchmark's present default has no *.

        ( ( 3 * 4 ) - - 1 )    12 + 1 = 13:  3 (mod 5)

    >>> ModularArithmetic().label(ModularArithmetic().tokens_of("( 2 - 4 )").unsqueeze(0)).tolist()
    [3]
    """

    no_multiplication: bool = False

    name = "modular_arithmetic"
    symbols = ("0", "1", "2", "3", "4", "+", "-", "*", "(", ")")
    num_classes = 5

    @property
    def chance_accuracy(self) -> float:  # type: ignore[override]  # read-only here, nobody sets it
        """Computed exactly by the tests: a product is 0 more often than a sum."""
        return 0.2 if self.no_multiplication else 0.2916

    def allows_length(self, length: int) -> str | None:
        return at_least(1, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        operators = "+-" if self.no_multiplication else "+-*"
        source = random.Random(int(torch.randint(2**62, (), generator=generator)))
        drawn = [draw_expression(length, operators, source) for _ in range(num)]
        ids = {symbol: index for index, symbol in enumerate(self.symbols)}
        tokens = torch.tensor([[ids[symbol] for symbol in symbols] for symbols, _ in drawn])
        return tokens.reshape(num, length), torch.tensor([value for _, value in drawn], dtype=torch.int64)

    def label_row(self, row: list[int]) -> int:
        return evaluate([self.symbols[token] for token in row])
