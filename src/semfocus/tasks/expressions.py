"""Bracketed arithmetic modulo 5, drawn by length: shared by modular_arithmetic and solve_equation.

    length 1: d    2: - d    3: ( d )    4: ( - d )    otherwise: ( left op right )

with the length of `left` uniform in 1..length-4 and the operator uniform.
"""

import random
from collections.abc import Sequence

MODULUS = 5


def draw_expression(length: int, operators: Sequence[str], source: random.Random) -> tuple[list[str], int]:
    """Symbols of a random expression of exactly `length` symbols, and its value, computed on the way."""
    symbols: list[str] = []
    values: list[int] = []
    # What is still to be written, last first: a length is an expression, a string a symbol, and a
    # one-element tuple the point where both sides of that operator have a value.
    agenda: list[int | str | tuple[str]] = [length]
    while agenda:
        item = agenda.pop()
        if isinstance(item, tuple):
            right, left = values.pop(), values.pop()
            values.append(apply(item[0], left, right))
        elif isinstance(item, str):
            symbols.append(item)
        elif item in (3, 4):
            agenda += [")", item - 2, "("]
        elif item > 4:
            left_length = source.randint(1, item - 4)
            operator = source.choice(operators)
            agenda += [")", (operator,), item - 3 - left_length, operator, left_length, "("]
        else:
            digit = source.randrange(MODULUS)
            symbols += ["-", str(digit)] if item == 2 else [str(digit)]
            values.append(-digit % MODULUS if item == 2 else digit)
    return symbols, values.pop()


def apply(operator: str, left: int, right: int) -> int:
    """left operator right, modulo 5."""
    if operator == "+":
        return (left + right) % MODULUS
    if operator == "-":
        return (left - right) % MODULUS
    assert operator == "*", operator
    return left * right % MODULUS


def evaluate(symbols: Sequence[str]) -> int:
    """The value of an expression, by collapsing each bracket as it closes.

    >>> evaluate("( ( 3 * 4 ) - - 1 )".split())
    3
    """
    open_items: list[int | str] = []
    for symbol in symbols:
        if symbol == ")":
            start = len(open_items) - 1 - open_items[::-1].index("(")
            item: int | str = _collapse(open_items[start + 1 :])
            del open_items[start:]
        else:
            item = int(symbol) if symbol.isdigit() else symbol
        open_items.append(item)
    return _collapse(open_items)


def _collapse(items: list[int | str]) -> int:
    """The value of a bracket's content: operands with optional minus signs, at most one operator between."""
    operands: list[int] = []
    operator, sign = "", 1
    expects_operand = True
    for item in items:
        if isinstance(item, int):
            operands.append(sign * item % MODULUS)
            sign, expects_operand = 1, False
        elif expects_operand:
            sign = -sign
        else:
            operator, expects_operand = item, True
    return apply(operator, *operands) if operator else operands[0]
