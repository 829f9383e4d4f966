import itertools

import pytest
import torch

from semfocus.tasks import TASKS
from tests.tasks.helpers import SMALLEST_P, fit, seeded, uniform

TASK = TASKS["stack_manipulation"]
POP, PUSH_0 = 2, 3


def exact_shares(length: int) -> dict[int, float]:
    """A programme over the stack's height; what lies on top of a stack is 0 or 1 alike."""
    empty = 0.0
    for start in range(1, length):
        heights = [0.0] * (length + 1)
        heights[start] = 1.0
        for _ in range(length - start):
            following = [0.0] * (length + 1)
            for height, share in enumerate(heights):
                following[max(height - 1, 0)] += share / 3
                if share:
                    following[height + 1] += share * 2 / 3
            heights = following
        empty += heights[0] / (length - 1)
    return {0: (1 - empty) / 2, 1: (1 - empty) / 2, 2: empty}


def naive_label(row: tuple[int, ...]) -> int:
    stack: list[int] = []
    for token in row:
        if token != POP:
            stack.append(token - PUSH_0 if token >= PUSH_0 else token)
        elif stack:
            stack.pop()
    return stack[-1] if stack else 2


def every_row(length: int) -> dict[tuple[int, ...], float]:
    rows = {}
    for height in range(1, length):
        choices = [(0, 1)] * height + [(2, 3, 4)] * (length - height)
        found = list(itertools.product(*choices))
        rows |= dict.fromkeys(found, 1 / len(found) / (length - 1))
    return rows


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("0 1 pop push1", 1),
        ("0 pop", 2),
        ("1 pop pop", 2),
        ("1 pop pop push0", 0),
        ("0 1 push0 pop pop", 0),
        ("1 0 1 push0", 0),
        ("1 pop push1 pop pop push1 push0 pop", 1),
    ],
)
def test_by_hand(text: str, label: int) -> None:
    assert TASK.label(TASK.tokens_of(text).unsqueeze(0)).tolist() == [label]


def test_every_row_of_length_6_has_the_label_of_a_plain_stack() -> None:
    rows = list(every_row(6))
    assert TASK.label(torch.tensor(rows)).tolist() == list(map(naive_label, rows))


def test_rows_have_the_exact_distribution() -> None:
    rows = map(tuple, TASK.sample(20_000, 5, seeded())[0].tolist())
    assert fit(rows, every_row(5)) > SMALLEST_P


def test_the_exact_programme_agrees_with_enumeration() -> None:
    shares = dict.fromkeys(range(3), 0.0)
    for row, share in every_row(6).items():
        shares[naive_label(row)] += share
    assert exact_shares(6) == pytest.approx(shares)


@pytest.mark.parametrize("length", [2, 5, 12, 40])
def test_labels_have_the_exact_distribution(length: int) -> None:
    assert fit(TASK.sample(30_000, length, seeded())[1].tolist(), exact_shares(length)) > SMALLEST_P


def test_stack_heights_are_uniform() -> None:
    heights = (TASK.sample(20_000, 40, seeded())[0] < 2).sum(1)
    assert fit(heights.tolist(), uniform(range(1, 40))) > SMALLEST_P


def test_bits_come_before_actions() -> None:
    action = TASK.sample(1000, 40, seeded())[0] >= POP
    assert bool((action[:, 1:] >= action[:, :-1]).all())


def test_chance_is_the_largest_exact_share() -> None:
    assert TASK.chance_accuracy == pytest.approx(max(exact_shares(40).values()), abs=5e-5)


RELEVANT = [
    ("0 1 pop push1", "...x"),
    ("0 1 push0 pop pop", "x...."),
    ("1 0 push1 pop", ".x.."),
    ("0 1 1 pop", ".x.."),
    ("1 pop pop", "xxx"),
    ("1 pop pop push0", "...x"),
]


@pytest.mark.parametrize(("text", "first"), RELEVANT)
@pytest.mark.parametrize("padding", [0, 3])
def test_what_ends_on_top_and_all_after_it_is_relevant(text: str, first: str, padding: int) -> None:
    row = torch.nn.functional.pad(TASK.tokens_of(text), (0, padding), value=TASK.pad_id)
    start, length = first.index("x"), len(first)
    expected = [start <= place < length for place in range(length + padding)]
    assert TASK.relevant(row.unsqueeze(0)).tolist() == [expected]


@pytest.mark.parametrize("length", [12, 40, (3, 20)])
def test_other_tokens_never_change_the_label(length: int | tuple[int, int]) -> None:
    tokens, labels = TASK.sample(1000, length, seeded())
    free = TASK.real(tokens) & ~TASK.relevant(tokens)
    bits = torch.randint(2, tokens.shape, generator=seeded(1))
    actions = torch.randint(2, 5, tokens.shape, generator=seeded(2))
    changed = torch.where(free, torch.where(tokens < POP, bits, actions), tokens)
    assert (changed != tokens).any(1).float().mean() > 0.5
    assert torch.equal(TASK.label(changed), labels)


def test_changing_the_deciding_bit_changes_the_label() -> None:
    tokens, labels = TASK.sample(500, 40, seeded())
    for row, relevant, label in zip(tokens, TASK.relevant(tokens), labels.tolist(), strict=True):
        if label == 2:
            continue
        decider = int(relevant.int().argmax())
        row[decider] += 1 - 2 * label
    assert TASK.label(tokens).tolist() == [2 if label == 2 else 1 - label for label in labels.tolist()]
