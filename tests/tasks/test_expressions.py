"""Bracketed expressions: exact distribution at short lengths, form at all, value against Python's own."""

import random
import re

import pytest

from semfocus.tasks.expressions import apply, draw_expression, evaluate
from tests.tasks.helpers import SMALLEST_P, fit


def every_shape(length: int, operators: str) -> dict[str, float]:
    """All expressions of a length with digits written as d, and their probabilities."""
    if length <= 4:
        return {["d", "-d", "(d)", "(-d)"][length - 1]: 1.0}
    shapes: dict[str, float] = {}
    for left_length in range(1, length - 3):
        for left, left_share in every_shape(left_length, operators).items():
            for right, right_share in every_shape(length - 3 - left_length, operators).items():
                for operator in operators:
                    share = left_share * right_share / (length - 4) / len(operators)
                    shape = f"({left}{operator}{right})"
                    shapes[shape] = shapes.get(shape, 0.0) + share
    return shapes


def draw_many(num: int, length: int, operators: str = "+-*") -> list[tuple[list[str], int]]:
    source = random.Random(length)
    return [draw_expression(length, operators, source) for _ in range(num)]


@pytest.mark.parametrize(("length", "operators"), [(5, "+-*"), (8, "+-*"), (10, "+-"), (12, "+-*")])
def test_shapes_have_the_exact_distribution(length: int, operators: str) -> None:
    drawn = draw_many(10_000, length, operators)
    shapes = (re.sub(r"\d", "d", "".join(symbols)) for symbols, _ in drawn)
    assert fit(shapes, every_shape(length, operators)) > SMALLEST_P


def test_digits_are_uniform() -> None:
    digits = [symbol for symbols, _ in draw_many(2000, 20) for symbol in symbols if symbol.isdigit()]
    assert fit(digits, dict.fromkeys("01234", 0.2)) > SMALLEST_P


def test_every_length_is_met_exactly_and_fully_bracketed() -> None:
    for length in range(1, 61):
        for symbols, _ in draw_many(20, length):
            assert len(symbols) == length
            text = re.sub(r"\d", "d", "".join(symbols))
            while (reduced := re.sub(r"\((e|-?d)[+*-](e|-?d)\)|\(-?d\)", "e", text)) != text:
                text = reduced
            assert text in {"e", "d", "-d"}, symbols


def test_the_value_on_the_way_and_the_evaluator_agree_with_python() -> None:
    for length in range(1, 61):
        for symbols, value in draw_many(20, length):
            expected = eval("".join(symbols)) % 5
            assert (value, evaluate(symbols)) == (expected, expected), symbols


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("- 1", 4),
        ("( 3 )", 3),
        ("( - 0 )", 0),
        ("( 2 - 4 )", 3),
        ("( - 2 * - 3 )", 1),
        ("- ( 1 + 1 )", 3),
    ],
)
def test_by_hand(text: str, value: int) -> None:
    assert evaluate(text.split()) == value


@pytest.mark.parametrize(("operator", "value"), [("+", 1), ("-", 4), ("*", 1)])
def test_operators_wrap_round_at_five(operator: str, value: int) -> None:
    assert apply(operator, {"+": 3, "-": 2, "*": 2}[operator], 3) == value


def test_long_expressions_need_no_recursion() -> None:
    (symbols, value), *_ = draw_many(1, 50_000, "+-")
    assert len(symbols) == 50_000
    assert evaluate(symbols) == value
