import pytest
import torch

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform

EVEN_PAIRS = TASKS["even_pairs"]


@pytest.mark.parametrize(
    ("text", "label"), [("0", 0), ("0 1", 1), ("1 1", 0), ("0 1 1 0 1", 1), ("1 0 0 1", 0), ("1 0 1 0", 1)]
)
def test_by_hand(text: str, label: int) -> None:
    assert EVEN_PAIRS.label(EVEN_PAIRS.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize("length", [2, 7, 40])
def test_labels_are_uniform(length: int) -> None:
    assert fit(EVEN_PAIRS.sample(20_000, length, seeded())[1].tolist(), uniform(range(2))) > SMALLEST_P


def test_sequences_are_uniform() -> None:
    rows = map(tuple, EVEN_PAIRS.sample(20_000, 6, seeded())[0].tolist())
    every = [tuple(row) for row in torch.cartesian_prod(*[torch.arange(2)] * 6).tolist()]
    assert fit(rows, uniform(every)) > SMALLEST_P


def test_chance_is_a_half() -> None:
    assert EVEN_PAIRS.chance_accuracy == 0.5


def test_first_and_last_are_relevant_padded_or_not() -> None:
    pad = EVEN_PAIRS.pad_id
    tokens = torch.tensor(
        [[0, 1, 1, 0, 1], [1, 0, 0, pad, pad], [1, 0, pad, pad, pad], [1, pad, pad, pad, pad]]
    )
    assert EVEN_PAIRS.relevant(tokens).int().tolist() == [
        [1, 0, 0, 0, 1],
        [1, 0, 1, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize("length", [40, (3, 20)])
def test_other_tokens_never_change_the_label(length: int | tuple[int, int]) -> None:
    tokens, labels = EVEN_PAIRS.sample(1000, length, seeded())
    free = EVEN_PAIRS.real(tokens) & ~EVEN_PAIRS.relevant(tokens)
    changed = torch.where(free, torch.randint(2, tokens.shape, generator=seeded(1)), tokens)
    assert (changed != tokens).any(1).float().mean() > 0.7
    assert torch.equal(EVEN_PAIRS.label(changed), labels)
