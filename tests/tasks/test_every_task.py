"""Promises that every built-in task keeps, also with arguments other than its defaults."""

import re

import pytest
import torch

from semfocus.tasks import Task, parse_task
from semfocus.tasks.catalog import BUILT_IN
from tests.tasks.helpers import seeded

SHORTEST = {
    "listops": 1,
    "parity": 1,
    "even_pairs": 1,
    "missing_duplicate": 2,
    "cycle_navigation": 1,
    "stack_manipulation": 2,
    "modular_arithmetic": 1,
    "modular_arithmetic(no_multiplication)": 1,
    "solve_equation": 3,
    "marked_majority": 5,
    "marked_majority(1)": 1,
    "marked_majority(9)": 9,
    "marked_pair": 2,
}
PAPER_VOCABULARY = {
    "listops": (15, 10),
    "parity": (2, 2),
    "even_pairs": (2, 2),
    "missing_duplicate": (3, 2),
    "cycle_navigation": (3, 5),
    "stack_manipulation": (5, 3),
    "modular_arithmetic": (10, 5),
    "solve_equation": (11, 5),
    "marked_majority": (4, 2),
    "marked_pair": (4, 2),
}
every_task = pytest.mark.parametrize("task", list(map(parse_task, SHORTEST)), ids=str)


def lengths_of(task: Task) -> list[int | tuple[int, int]]:
    shortest = SHORTEST.get(str(task), SHORTEST[task.name])
    return [shortest, 20, task.paper_length, 62, (shortest, 57)]


def a_range_of(task: Task) -> tuple[int, int]:
    """A range all of whose lengths turn up in a few thousand samples."""
    shortest = SHORTEST.get(str(task), SHORTEST[task.name])
    return (3, 14) if task.name == "listops" else (max(shortest - 2, 0), 25)


def test_every_built_in_task_is_checked_here() -> None:
    assert {parse_task(text).name for text in SHORTEST} == BUILT_IN, "and not those of a recipe file"


@every_task
def test_sampler_and_evaluator_agree_on_10_000_samples(task: Task) -> None:
    for seed, length in enumerate(lengths_of(task)):
        tokens, labels = task.sample(2000, length, seeded(seed))
        assert torch.equal(task.label(tokens), labels), f"length {length}"


@every_task
def test_samples_are_int64_in_the_promised_shape(task: Task) -> None:
    for length in lengths_of(task):
        tokens, labels = task.sample(3, length, seeded())
        width = length if isinstance(length, int) else length[1]
        assert (tokens.shape, labels.shape) == ((3, width), (3,))
        assert (tokens.dtype, labels.dtype, task.label(tokens).dtype) == (torch.int64,) * 3


@every_task
def test_the_generator_alone_decides_the_sample(task: Task) -> None:
    for length in (20, a_range_of(task)):
        first, again, other = (task.sample(50, length, seeded(seed)) for seed in (1, 1, 2))
        assert torch.equal(first[0], again[0])
        assert torch.equal(first[1], again[1])
        assert not torch.equal(first[0], other[0])


@every_task
def test_the_generator_moves_on_between_samples(task: Task) -> None:
    generator = seeded()
    first, second = (task.sample(50, 20, generator)[0] for _ in range(2))
    assert not torch.equal(first, second)


@every_task
def test_one_length_has_no_padding_and_uses_every_symbol_it_may(task: Task) -> None:
    tokens = task.sample(2000, 20, seeded())[0]
    used = set(tokens.flatten().tolist())
    unused = {task.symbols.index("*")} if str(task) == "modular_arithmetic(no_multiplication)" else set()
    assert used == set(range(len(task.symbols))) - unused


@every_task
def test_labels_are_the_classes_and_all_occur(task: Task) -> None:
    assert set(task.sample(20_000, 20, seeded())[1].tolist()) == set(range(task.num_classes))


@every_task
def test_rows_of_a_range_end_in_padding(task: Task) -> None:
    low, high = a_range_of(task)
    tokens = task.sample(500, (low, high), seeded())[0]
    real = task.real(tokens)
    assert bool((real[:, :-1] | ~real[:, 1:]).all()), "nothing real follows padding"
    assert (real == (tokens < len(task.symbols))).all()
    assert (tokens[~real] == task.pad_id).all()


@every_task
def test_a_range_gives_every_possible_length_and_no_other(task: Task) -> None:
    low, high = a_range_of(task)
    lengths = task.real(task.sample(5000, (low, high), seeded())[0]).sum(1)
    possible = {each for each in range(low, high + 1) if task.allows_length(each) is None}
    assert set(lengths.tolist()) == possible
    assert len(possible) < high - low + 1, "the range must also hold impossible lengths"


@every_task
def test_padding_does_not_change_the_label(task: Task) -> None:
    tokens, labels = task.sample(200, 20, seeded())
    padded = torch.nn.functional.pad(tokens, (0, 7), value=task.pad_id)
    assert torch.equal(task.label(padded), labels)


@every_task
def test_text_and_tokens_go_back_and_forth(task: Task) -> None:
    for row in task.sample(50, a_range_of(task), seeded())[0]:
        real = row[task.real(row)]
        assert torch.equal(task.tokens_of(task.text_of(row)), real)
    assert task.tokens_of(" ".join(task.symbols)).tolist() == list(range(len(task.symbols)))


@every_task
def test_an_unknown_symbol_is_named(task: Task) -> None:
    with pytest.raises(
        ValueError,
        match=rf"{task.name}: unknown symbol 'what'; symbols: {re.escape(' '.join(task.symbols))}$",
    ):
        task.tokens_of(f"{task.symbols[0]} what")


@every_task
def test_the_padding_token_comes_after_the_symbols(task: Task) -> None:
    symbols, classes = PAPER_VOCABULARY[task.name]
    assert (len(task.symbols), task.pad_id, task.vocab_size) == (symbols, symbols, symbols + 1)
    assert task.num_classes == classes


@every_task
def test_paper_lengths(task: Task) -> None:
    assert task.paper_length == ((501, 599) if task.name == "listops" else 40)


@every_task
def test_relevant_marks_real_tokens_of_every_row_or_is_none(task: Task) -> None:
    tokens = task.sample(500, a_range_of(task), seeded())[0]
    relevant = task.relevant(tokens)
    if task.name in {"listops", "modular_arithmetic", "solve_equation"}:
        assert relevant is None
        return
    assert relevant is not None
    assert (relevant.dtype, relevant.shape) == (torch.bool, tokens.shape)
    assert relevant.any(1).all()
    assert not (relevant & ~task.real(tokens)).any()


IMPOSSIBLE = [
    ("listops", 0, "length 0 is not possible, needs a length of 1, or of at least 4"),
    ("listops", (2, 3), "any length from 2 to 3 is not possible, needs a length of 1, or of at least 4"),
    ("parity", 0, "length 0 is not possible, needs a length of at least 1"),
    ("even_pairs", 0, "needs a length of at least 1"),
    ("missing_duplicate", 7, "length 7 is not possible, needs an even length of at least 2"),
    ("missing_duplicate", 0, "needs an even length of at least 2"),
    ("missing_duplicate", (9, 9), "length 9 is not possible, needs an even length of at least 2"),
    ("cycle_navigation", 0, "needs a length of at least 1"),
    ("stack_manipulation", 1, "needs a length of at least 2"),
    ("modular_arithmetic", 0, "needs a length of at least 1"),
    ("solve_equation", 2, "needs a length of at least 3"),
    ("marked_majority", 4, "needs a length of at least 5"),
    ("marked_majority(9)", (1, 8), "any length from 1 to 8 is not possible, needs a length of at least 9"),
    ("marked_pair", 1, "length 1 is not possible, needs a length of at least 2"),
    ("parity", -3, "needs a length of at least 1"),
    ("missing_duplicate", (-4, -2), "needs an even length of at least 2"),
]


@pytest.mark.parametrize(("text", "length", "message"), IMPOSSIBLE)
def test_an_impossible_length_is_refused_with_what_is_possible(
    text: str, length: int | tuple[int, int], message: str
) -> None:
    task = parse_task(text)
    with pytest.raises(ValueError, match=f"^{task.name}: .*{message}$"):
        task.sample(1, length, seeded())


@every_task
def test_the_shortest_possible_length_is_as_listed(task: Task) -> None:
    possible = [each for each in range(30) if task.allows_length(each) is None]
    assert possible[0] == SHORTEST.get(str(task), SHORTEST[task.name])


@every_task
def test_no_samples_are_refused(task: Task) -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        task.sample(0, task.paper_length, torch.Generator())
