"""Solve equation: which digit is x, modulo 5?"""

import random
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.tasks.expressions import MODULUS, draw_expression, evaluate
from semfocus.tasks.task import Task, at_least


@dataclass(frozen=True)
class SolveEquation(Task):
    """A bracketed expression of + and - with one digit replaced by x, then = and its value.

        ( ( 3 - x ) + 2 ) = 1     x = 4:  3 - 4 + 2 = 1

    x occurs once and is never multiplied, so exactly one digit solves the equation.

    >>> SolveEquation().label(SolveEquation().tokens_of("( ( 3 - x ) + 2 ) = 1").unsqueeze(0)).tolist()
    [4]
    """

    name = "solve_equation"
    symbols = ("0", "1", "2", "3", "4", "+", "-", "(", ")", "x", "=")
    num_classes = 5
    chance_accuracy = 0.2

    def allows_length(self, length: int) -> str | None:
        return at_least(3, length)

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        source = random.Random(int(torch.randint(2**62, (), generator=generator)))
        ids = {symbol: index for index, symbol in enumerate(self.symbols)}
        rows, labels = [], []
        for _ in range(num):
            symbols, value = draw_expression(length - 2, "+-", source)
            hidden = source.choice([place for place, symbol in enumerate(symbols) if symbol.isdigit()])
            labels.append(int(symbols[hidden]))
            symbols[hidden] = "x"
            rows.append([ids[symbol] for symbol in (*symbols, "=", str(value))])
        return torch.tensor(rows).reshape(num, length), torch.tensor(labels, dtype=torch.int64)

    def label_row(self, row: list[int]) -> int:
        symbols = [self.symbols[token] for token in row]
        left, value = symbols[:-2], int(symbols[-1])
        return next(
            digit
            for digit in range(MODULUS)
            if evaluate([str(digit) if symbol == "x" else symbol for symbol in left]) == value
        )
