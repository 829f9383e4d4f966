import pytest
import torch

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform

PARITY = TASKS["parity"]


@pytest.mark.parametrize(
    ("text", "label"), [("0", 0), ("1", 1), ("0 1 1 0 1", 1), ("1 0 0 1 0", 0), ("1 1 1 1", 0)]
)
def test_by_hand(text: str, label: int) -> None:
    assert PARITY.label(PARITY.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize("length", [1, 7, 40])
def test_labels_are_uniform(length: int) -> None:
    assert fit(PARITY.sample(20_000, length, seeded())[1].tolist(), uniform(range(2))) > SMALLEST_P


def test_sequences_are_uniform() -> None:
    rows = map(tuple, PARITY.sample(20_000, 6, seeded())[0].tolist())
    every = [tuple(row) for row in torch.cartesian_prod(*[torch.arange(2)] * 6).tolist()]
    assert fit(rows, uniform(every)) > SMALLEST_P


def test_chance_is_a_half() -> None:
    assert PARITY.chance_accuracy == 0.5


def test_every_real_token_is_relevant_and_flips_the_label() -> None:
    tokens, labels = PARITY.sample(50, (3, 12), seeded())
    relevant = PARITY.relevant(tokens)
    assert torch.equal(relevant, PARITY.real(tokens))
    for row, column in relevant.nonzero().tolist():
        changed = tokens[row : row + 1].clone()
        changed[0, column] = 1 - changed[0, column]
        assert PARITY.label(changed).item() == 1 - labels[row].item()
