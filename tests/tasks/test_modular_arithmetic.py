import numpy as np
import pytest

from semfocus.tasks import parse_task
from semfocus.tasks.modular_arithmetic import ModularArithmetic
from tests.tasks.helpers import SMALLEST_P, fit, seeded

OUTCOMES = {
    operator: np.array(
        [
            [[(eval(f"{left}{operator}{right}") % 5) == value for right in range(5)] for left in range(5)]
            for value in range(5)
        ]
    )
    for operator in "+-*"
}


def exact_shares(length: int, operators: str) -> dict[int, float]:
    """The distribution of values by length: sides are independent, so one length builds on the shorter ones."""
    by_length = {each: np.full(5, 0.2) for each in range(1, 5)}
    for each in range(5, length + 1):
        by_length[each] = np.mean(
            [
                OUTCOMES[operator] @ by_length[each - 3 - left] @ by_length[left]
                for left in range(1, each - 3)
                for operator in operators
            ],
            axis=0,
        )
    return dict(enumerate(by_length[length].tolist()))


def test_the_exact_programme_by_hand() -> None:
    # ( a * b ) is 0 in 9 of 25 cases; + and - are uniform
    assert exact_shares(5, "+-*")[0] == pytest.approx((0.2 + 0.2 + 9 / 25) / 3)


@pytest.mark.parametrize("length", [1, 4, 5, 9, 40])
def test_labels_have_the_exact_distribution(length: int) -> None:
    labels = ModularArithmetic().sample(20_000, length, seeded())[1]
    assert fit(labels.tolist(), exact_shares(length, "+-*")) > SMALLEST_P


@pytest.mark.parametrize("length", [5, 40])
def test_labels_without_multiplication_have_the_exact_distribution(length: int) -> None:
    labels = ModularArithmetic(no_multiplication=True).sample(20_000, length, seeded())[1]
    assert fit(labels.tolist(), exact_shares(length, "+-")) > SMALLEST_P


def test_chance_is_the_largest_exact_share() -> None:
    assert ModularArithmetic().chance_accuracy == pytest.approx(
        max(exact_shares(40, "+-*").values()), abs=5e-5
    )
    without = ModularArithmetic(no_multiplication=True)
    assert without.chance_accuracy == pytest.approx(max(exact_shares(40, "+-").values()), abs=5e-5)


def test_labels_are_what_python_computes() -> None:
    task = ModularArithmetic()
    tokens, labels = task.sample(500, (1, 60), seeded())
    assert labels.tolist() == [eval(task.text_of(row)) % 5 for row in tokens]


def test_token_ids_are_the_benchmarks() -> None:
    assert ModularArithmetic().tokens_of("0 1 2 3 4 + - * ( )").tolist() == list(range(10))


def test_text_form() -> None:
    assert str(ModularArithmetic()) == "modular_arithmetic"
    without = ModularArithmetic(no_multiplication=True)
    assert str(without) == "modular_arithmetic(no_multiplication)"
    assert parse_task(str(without)) == without


def test_the_switch_must_be_true_or_false() -> None:
    with pytest.raises(
        ValueError, match=r"^modular_arithmetic: no_multiplication must be True or False, got 1$"
    ):
        ModularArithmetic(1)
