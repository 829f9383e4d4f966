import re

import pytest
import torch

from semfocus.tasks import parse_task
from semfocus.tasks.marked_majority import MarkedMajority
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform


@pytest.mark.parametrize(
    ("text", "label"), [("0 1* 1 0* 0 1*", 1), ("1 0* 1 1 0* 1*", 0), ("0* 0* 0*", 0), ("1* 0 1* 0 1*", 1)]
)
def test_by_hand(text: str, label: int) -> None:
    task = MarkedMajority(3)
    assert task.label(task.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize(("m", "length"), [(1, 1), (5, 5), (5, 40), (39, 40)])
def test_labels_are_uniform(m: int, length: int) -> None:
    assert fit(MarkedMajority(m).sample(20_000, length, seeded())[1].tolist(), uniform(range(2))) > SMALLEST_P


@pytest.mark.parametrize("m", [1, 5, 21])
def test_exactly_m_tokens_are_marked(m: int) -> None:
    tokens = MarkedMajority(m).sample(500, (21, 40), seeded())[0]
    assert ((tokens == 2) | (tokens == 3)).sum(1).tolist() == [m] * 500


def test_rows_are_uniform_over_bits_and_marked_places() -> None:
    every = [
        tuple(bit + 2 * (place in marked) for place, bit in enumerate(bits))
        for bits in torch.cartesian_prod(*[torch.arange(2)] * 5).tolist()
        for marked in torch.combinations(torch.arange(5), 3).tolist()
    ]
    rows = map(tuple, MarkedMajority(3).sample(20_000, 5, seeded())[0].tolist())
    assert fit(rows, uniform(every)) > SMALLEST_P


def test_chance_is_a_half() -> None:
    assert MarkedMajority().chance_accuracy == 0.5


def test_the_marked_tokens_are_relevant_padded_or_not() -> None:
    tokens = torch.tensor([[0, 3, 1, 2, 0, 3], [2, 2, 0, 3, 4, 4]])
    assert MarkedMajority(3).relevant(tokens).int().tolist() == [[0, 1, 0, 1, 0, 1], [1, 1, 0, 1, 0, 0]]


@pytest.mark.parametrize("length", [40, (7, 20)])
def test_other_tokens_never_change_the_label(length: int | tuple[int, int]) -> None:
    task = MarkedMajority(5)
    tokens, labels = task.sample(1000, length, seeded())
    free = task.real(tokens) & ~task.relevant(tokens)
    changed = torch.where(free, torch.randint(2, tokens.shape, generator=seeded(1)), tokens)
    assert (changed != tokens).any(1).float().mean() > 0.7
    assert torch.equal(task.label(changed), labels)


@pytest.mark.parametrize("m", [0, -1, 4])
def test_m_must_be_odd_and_positive(m: int) -> None:
    with pytest.raises(ValueError, match=f"^marked_majority: m must be odd and at least 1, got {m}$"):
        MarkedMajority(m)


@pytest.mark.parametrize("m", [True, 5.0, "5", None])
def test_m_must_be_an_integer(m: object) -> None:
    with pytest.raises(
        ValueError, match=f"^marked_majority: m must be an integer, got {re.escape(repr(m))}$"
    ):
        MarkedMajority(m)


def test_text_form() -> None:
    assert str(MarkedMajority()) == "marked_majority(5)"
    assert parse_task("marked_majority( 9 )") == MarkedMajority(9)
