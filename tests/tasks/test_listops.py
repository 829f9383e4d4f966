import random

import numpy as np
import pytest
import torch

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded
from tests.tasks.listops_oracle import every_shape, parse, value
from tests.tasks.listops_shares import enumerated_shares, exact_shares

LISTOPS = TASKS["listops"]


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("7", 7),
        ("[MIN 3 2 ]", 2),
        ("[MAX 3 9 2 ]", 9),
        ("[SM 8 9 ]", 7),
        ("[SM 9 9 9 9 9 9 9 9 9 9 ]", 0),
        ("[MED 1 2 9 8 ]", 5),
        ("[MED 2 5 ]", 3),
        ("[MED 9 0 4 ]", 4),
        ("[MAX 7 1 [MIN 3 2 ] ]", 7),
        ("[SM [MAX 8 1 ] [MED 1 4 ] [MIN 5 6 ] ]", 5),
    ],
)
def test_by_hand(text: str, label: int) -> None:
    assert LISTOPS.label(LISTOPS.tokens_of(text).unsqueeze(0)).tolist() == [label]


def test_token_ids_are_the_papers() -> None:
    assert LISTOPS.tokens_of("0 1 2 3 4 5 6 7 8 9 [MIN [MAX [MED [SM ]").tolist() == list(range(15))


@pytest.mark.parametrize("length", [(1, 30), (501, 599)])
def test_labels_are_those_of_a_recursive_evaluator(length: tuple[int, int]) -> None:
    tokens, labels = LISTOPS.sample(300, length, seeded())
    assert labels.tolist() == [value(parse(LISTOPS.text_of(row).split())) for row in tokens]


@pytest.mark.parametrize("length", [4, 5, 6, 7])
def test_labels_have_the_exact_distribution_at_short_lengths(length: int) -> None:
    shares = dict(enumerate(enumerated_shares(length)))
    assert fit(LISTOPS.sample(20_000, length, seeded())[1].tolist(), shares) > SMALLEST_P


@pytest.mark.parametrize("length", [4, 7])
def test_the_exact_shares_agree_with_enumeration(length: int) -> None:
    assert exact_shares(length, length).tolist() == pytest.approx(enumerated_shares(length))


def test_labels_have_the_exact_distribution_at_the_papers_length() -> None:
    shares = dict(enumerate(exact_shares(501, 599).tolist()))
    labels = LISTOPS.sample(10_000, (501, 599), seeded())[1]
    assert fit(labels.tolist(), shares) > SMALLEST_P
    assert LISTOPS.chance_accuracy == pytest.approx(max(shares.values()), abs=5e-5)


def test_lengths_of_a_range_have_the_usual_generators_shares() -> None:
    weights = {length: sum(every_shape(length).values()) for length in range(4, 13)}
    total = sum(weights.values())
    lengths = LISTOPS.real(LISTOPS.sample(20_000, (2, 12), seeded())[0]).sum(1)
    assert fit(lengths.tolist(), {length: weight / total for length, weight in weights.items()}) > SMALLEST_P


def test_digits_and_operators_are_uniform() -> None:
    tokens = LISTOPS.sample(2000, (21, 59), seeded())[0].flatten().tolist()
    assert fit([token for token in tokens if token < 10], dict.fromkeys(range(10), 0.1)) > SMALLEST_P
    assert (
        fit([token for token in tokens if 10 <= token < 14], dict.fromkeys(range(10, 14), 0.25)) > SMALLEST_P
    )


def test_long_sequences_work() -> None:
    tokens, labels = LISTOPS.sample(3, 2000, seeded())
    assert torch.equal(LISTOPS.label(tokens), labels)


def test_sampling_leaves_the_global_random_states_alone() -> None:
    states = random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()
    LISTOPS.sample(5, 20, seeded())
    assert (random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()) == states
