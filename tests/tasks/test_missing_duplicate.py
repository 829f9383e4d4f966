import pytest
import torch

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform

TASK = TASKS["missing_duplicate"]


@pytest.mark.parametrize(
    ("text", "label"),
    [("0 1 1 0 ? 1", 1), ("0 1 1 ? 1 1", 0), ("0 ? 1 0 1 1", 1), ("? 1 1 0 1 1", 0), ("? 1", 1), ("0 ?", 0)],
)
def test_by_hand(text: str, label: int) -> None:
    assert TASK.label(TASK.tokens_of(text).unsqueeze(0)).tolist() == [label]


@pytest.mark.parametrize("length", [2, 6, 40])
def test_labels_are_uniform(length: int) -> None:
    assert fit(TASK.sample(20_000, length, seeded())[1].tolist(), uniform(range(2))) > SMALLEST_P


def test_the_halves_are_equal_with_one_place_overwritten() -> None:
    tokens, labels = TASK.sample(1000, 40, seeded())
    missing = tokens == 2
    assert missing.sum(1).tolist() == [1] * 1000
    restored = torch.where(missing, labels.unsqueeze(1), tokens)
    assert torch.equal(restored[:, :20], restored[:, 20:])


def test_sequences_are_uniform_over_strings_and_places() -> None:
    every = []
    for bits in torch.cartesian_prod(*[torch.arange(2)] * 3).tolist():
        for place in range(6):
            row = bits * 2
            row[place] = 2
            every.append(tuple(row))
    rows = map(tuple, TASK.sample(20_000, 6, seeded())[0].tolist())
    assert fit(rows, uniform(every)) > SMALLEST_P


def test_chance_is_a_half() -> None:
    assert TASK.chance_accuracy == 0.5


def test_the_missing_place_and_its_twin_are_relevant_padded_or_not() -> None:
    pad = TASK.pad_id
    tokens = torch.tensor(
        [[0, 1, 1, 0, 2, 1], [0, 2, 0, 1, pad, pad], [0, 1, 0, 2, pad, pad], [2, 1] + [pad] * 4]
    )
    assert TASK.relevant(tokens).int().tolist() == [
        [0, 1, 0, 0, 1, 0],
        [0, 1, 0, 1, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [1, 1, 0, 0, 0, 0],
    ]


@pytest.mark.parametrize("length", [40, (4, 20)])
def test_other_tokens_never_change_the_label(length: int | tuple[int, int]) -> None:
    tokens, labels = TASK.sample(1000, length, seeded())
    relevant = TASK.relevant(tokens)
    changed, generator = tokens.clone(), seeded(1)
    for row, keep in zip(changed, relevant, strict=True):
        half = int(TASK.real(row).sum()) // 2
        string = torch.randint(2, (half,), generator=generator).repeat(2)
        row[: 2 * half] = torch.where(keep[: 2 * half], row[: 2 * half], string)
    assert (changed != tokens).any(1).float().mean() > 0.7
    assert torch.equal(TASK.label(changed), labels)
