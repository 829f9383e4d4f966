"""The base class: lengths, padding and the text form of a small task of our own."""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from semfocus.tasks import Task, checked_length
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform


@dataclass(frozen=True)
class Length(Task):
    """Rows of zeros of odd length; the label is the length modulo 4."""

    name = "length"
    symbols = ("zero",)
    num_classes = 4
    chance_accuracy = 0.5

    def allows_length(self, length: int) -> str | None:
        return None if length % 2 else "an odd length"

    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        return torch.zeros(num, length, dtype=torch.int64), torch.full((num,), length % 4)

    def label_row(self, row: list[int]) -> int:
        return len(row) % 4


def test_a_task_of_three_methods_samples_ranges() -> None:
    tokens, labels = Length().sample(300, (2, 8), seeded())
    lengths = (tokens == 0).sum(1)
    assert tokens.shape == (300, 8)
    assert set(lengths.tolist()) == {3, 5, 7}
    assert torch.equal(labels, lengths % 4)
    assert torch.equal(Length().label(tokens), labels)


def test_lengths_of_a_range_are_uniform_over_those_that_exist() -> None:
    lengths = (Length().sample(5000, (2, 14), seeded())[0] == 0).sum(1)
    assert fit(lengths.tolist(), uniform([3, 5, 7, 9, 11, 13])) > SMALLEST_P


def test_lengths_of_a_range_are_drawn_for_each_row_not_sorted() -> None:
    lengths = (Length().sample(100, (1, 9), seeded())[0] == 0).sum(1)
    assert not torch.equal(lengths, lengths.sort().values)


def test_a_task_says_nothing_of_relevance_unless_it_defines_it() -> None:
    assert Length().relevant(torch.zeros(1, 3, dtype=torch.int64)) is None


def test_text_leaves_padding_out() -> None:
    assert Length().text_of(torch.tensor([0, 0, 1, 1])) == "zero zero"
    assert Length().tokens_of("").tolist() == []


@pytest.mark.parametrize(
    ("length", "expected"), [(5, (5, 5)), ((3, 9), (3, 9)), ([3, 9], (3, 9)), ((-4, 9), (0, 9))]
)
def test_a_length_or_a_range_is_read_as_bounds(length: object, expected: tuple[int, int]) -> None:
    assert checked_length(Length(), length) == expected


@pytest.mark.parametrize("length", [5.0, True, "5", "57", None, (5,), (1, 2, 3), (1.0, 3), (True, 3), {3, 5}])
def test_anything_else_is_refused_by_name(length: object) -> None:
    with pytest.raises(ValueError, match=r"^length: length must be an integer or a pair \(low, high\), got "):
        checked_length(Length(), length)


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^length: length range \(9, 5\) is empty$"):
        checked_length(Length(), (9, 5))


def test_a_range_with_one_possible_length_is_enough() -> None:
    assert (Length().sample(4, (4, 6), seeded())[0] == 0).sum(1).tolist() == [5, 5, 5, 5]


def test_a_task_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Length().m = 5
