import re

import pytest

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform
from tests.tasks.test_expressions import every_shape

TASK = TASKS["solve_equation"]


@pytest.mark.parametrize(
    ("text", "label"),
    [("x = 3", 3), ("- x = 3", 2), ("( ( 3 - x ) + 2 ) = 1", 4), ("( 1 - - x ) = 0", 4), ("( - x ) = 0", 0)],
)
def test_by_hand(text: str, label: int) -> None:
    assert TASK.label(TASK.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize("length", [3, 7, 12, 40])
def test_labels_are_uniform(length: int) -> None:
    assert fit(TASK.sample(20_000, length, seeded())[1].tolist(), uniform(range(5))) > SMALLEST_P


def test_exactly_one_digit_solves_the_equation_says_python() -> None:
    tokens, labels = TASK.sample(300, (3, 60), seeded())
    for row, label in zip(tokens, labels.tolist(), strict=True):
        left, value = TASK.text_of(row).split("=")
        solutions = [x for x in range(5) if eval(left, {"x": x}) % 5 == int(value)]
        assert solutions == [label]


def test_equations_have_the_exact_distribution_of_shapes_and_of_the_place_of_x() -> None:
    shares: dict[str, float] = {}
    for shape, share in every_shape(9, "+-").items():
        places = [match.start() for match in re.finditer("d", shape)]
        for place in places:
            equation = f"{shape[:place]}x{shape[place + 1 :]}=d"
            shares[equation] = shares.get(equation, 0.0) + share / len(places)
    rows = TASK.sample(10_000, 11, seeded())[0]
    assert fit((re.sub(r"\d", "d", TASK.text_of(row).replace(" ", "")) for row in rows), shares) > SMALLEST_P


def test_chance_is_a_fifth() -> None:
    assert TASK.chance_accuracy == 0.2


def test_token_ids_are_the_benchmarks() -> None:
    assert TASK.tokens_of("0 1 2 3 4 + - ( ) x =").tolist() == list(range(11))
