import numpy as np
import pytest
import torch

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform

TASK = TASKS["cycle_navigation"]


def exact_shares(length: int) -> dict[int, float]:
    """Where a walk of uniform steps ends on the ring: one convolution a step."""
    place = np.array([1.0, 0, 0, 0, 0])
    for _ in range(length):
        place = (np.roll(place, -1) + place + np.roll(place, 1)) / 3
    return dict(enumerate(place.tolist()))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("stay", 0),
        ("left", 4),
        ("right", 1),
        ("right right stay left", 1),
        ("left left", 3),
        ("right " * 7, 2),
    ],
)
def test_by_hand(text: str, label: int) -> None:
    assert TASK.label(TASK.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize("length", [1, 2, 3, 5, 40])
def test_labels_have_the_exact_distribution(length: int) -> None:
    assert fit(TASK.sample(20_000, length, seeded())[1].tolist(), exact_shares(length)) > SMALLEST_P


def test_steps_are_uniform() -> None:
    assert fit(TASK.sample(1000, 20, seeded())[0].flatten().tolist(), uniform(range(3))) > SMALLEST_P


def test_chance_is_the_largest_exact_share() -> None:
    assert TASK.chance_accuracy == pytest.approx(max(exact_shares(40).values()), abs=1e-9)


def test_every_real_token_is_relevant_and_moves_the_end() -> None:
    tokens, labels = TASK.sample(50, (3, 12), seeded())
    relevant = TASK.relevant(tokens)
    assert torch.equal(relevant, TASK.real(tokens))
    for row, column in relevant.nonzero().tolist():
        changed = tokens[row : row + 1].clone()
        changed[0, column] = (changed[0, column] + 1) % 3
        assert TASK.label(changed).item() != labels[row].item()
