from itertools import combinations, product

import pytest
import torch

from semfocus.tasks.even_pairs import EvenPairs
from semfocus.tasks.marked_pair import MarkedPair
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform

TASK = MarkedPair()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("0 1* 1 0* 0 1", 1),
        ("1* 0 0 1 1* 0", 0),
        ("0* 0*", 0),
        ("0* 1*", 1),
        ("1 1 1* 0*", 1),
        ("0* 1 1 0*", 0),
    ],
)
def test_by_hand(text: str, label: int) -> None:
    assert TASK.label(TASK.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize("length", [2, 16, 40])
def test_labels_are_uniform_and_two_tokens_are_marked(length: int) -> None:
    tokens, labels = TASK.sample(20_000, length, seeded())
    assert fit(labels.tolist(), uniform(range(2))) > SMALLEST_P
    assert ((tokens == 2) | (tokens == 3)).sum(1).eq(2).all()


def test_rows_are_uniform_over_bits_and_places_so_that_no_position_is_special() -> None:
    every = [
        tuple(bit + 2 * (place in marked) for place, bit in enumerate(bits))
        for bits in product(range(2), repeat=4)
        for marked in combinations(range(4), 2)
    ]
    rows = map(tuple, TASK.sample(20_000, 4, seeded())[0].tolist())
    assert fit(rows, uniform(every)) > SMALLEST_P


def test_first_and_last_say_no_more_than_chance() -> None:
    """What solves even_pairs does not solve its twin: only where both ends are marked, one row in 120 at length 16."""
    tokens, labels = TASK.sample(20_000, 16, seeded())
    guess = EvenPairs().label(tokens % 2)
    assert float((guess == labels).double().mean()) == pytest.approx(0.5 + 0.5 / 120, abs=0.015)


def test_the_marked_tokens_are_relevant_padded_or_not() -> None:
    tokens = torch.tensor([[0, 3, 1, 2, 0], [2, 2, 0, 4, 4]])
    assert TASK.relevant(tokens).int().tolist() == [[0, 1, 0, 1, 0], [1, 1, 0, 0, 0]]


@pytest.mark.parametrize("length", [40, (5, 20)])
def test_other_tokens_never_change_the_label(length: int | tuple[int, int]) -> None:
    tokens, labels = TASK.sample(1000, length, seeded())
    free = TASK.real(tokens) & ~TASK.relevant(tokens)
    changed = torch.where(free, torch.randint(2, tokens.shape, generator=seeded(1)), tokens)
    assert (changed != tokens).any(1).double().mean() > 0.7
    assert torch.equal(TASK.label(changed), labels)


def test_each_marked_token_alone_changes_it() -> None:
    tokens, labels = TASK.sample(500, 16, seeded())
    for which in (0, 1):
        place = TASK.relevant(tokens).nonzero()[which::2, 1]
        flipped = tokens.clone()
        flipped[torch.arange(500), place] = 5 - tokens[torch.arange(500), place]
        assert torch.equal(TASK.label(flipped), 1 - labels)
