from pathlib import Path

import pytest
import torch

from semfocus.randomness import stream
from semfocus.tasks import TASKS, Dataset, FileTask, count_overlap, draw_dataset

LISTOPS, PARITY = TASKS["listops"], TASKS["parity"]


def rows_of(dataset: Dataset) -> list[tuple[int, ...]]:
    return list(map(tuple, dataset.train.tokens.tolist() + dataset.held_out.tokens.tolist()))


@pytest.mark.parametrize("name", list(TASKS))
def test_sizes_labels_and_real_tokens(name: str) -> None:
    task = TASKS[name]
    dataset = draw_dataset(task, 30, 20, (20, 25), seed=0)
    assert (len(dataset.train), len(dataset.held_out)) == (30, 20)
    for part in (dataset.train, dataset.held_out):
        assert torch.equal(part.labels, task.label(part.tokens))
        assert torch.equal(part.real, part.tokens != task.pad_id)


@pytest.mark.parametrize("name", list(TASKS))
def test_the_arguments_alone_decide_the_data(name: str) -> None:
    first, again, other = (draw_dataset(TASKS[name], 30, 20, (6, 12), seed) for seed in (1, 1, 2))
    assert rows_of(first) == rows_of(again)
    assert torch.equal(first.train.labels, again.train.labels)
    assert rows_of(first) != rows_of(other)


def test_training_and_held_out_come_from_different_streams() -> None:
    dataset = draw_dataset(PARITY, 100, 100, 40, seed=3)
    assert not torch.equal(dataset.train.tokens, dataset.held_out.tokens)
    assert torch.equal(dataset.train.tokens, PARITY.sample(100, 40, stream(3, "train"))[0])
    assert torch.equal(dataset.held_out.tokens, PARITY.sample(100, 40, stream(3, "held_out"))[0])


def test_held_out_samples_do_not_depend_on_how_many_are_for_training() -> None:
    few, many = (draw_dataset(PARITY, num, 50, 40, seed=0).held_out.tokens for num in (10, 1000))
    assert torch.equal(few, many)


def test_overlap_counts_held_out_rows_that_occur_in_training() -> None:
    train = torch.tensor([[0, 1], [1, 1], [1, 1]])
    held_out = torch.tensor([[1, 1], [1, 0], [1, 1], [0, 1], [0, 0]])
    assert count_overlap(train, held_out) == 3
    assert count_overlap(held_out, train) == 3
    assert count_overlap(train[:1], held_out[:2]) == 0


def test_the_overlap_of_a_dataset_is_reported() -> None:
    short = draw_dataset(PARITY, 200, 50, 3, seed=0)
    assert short.overlap == 50, "all eight sequences of length 3 are in training"
    assert draw_dataset(PARITY, 200, 50, 40, seed=0).overlap == 0


@pytest.mark.parametrize("length", [4, (4, 6)])
def test_listops_has_no_sequence_twice(length: int | tuple[int, int]) -> None:
    independent = LISTOPS.sample(150, length, stream(0, "train"))[0]
    assert len(set(map(tuple, independent.tolist()))) < 150, "this length must make collisions"
    dataset = draw_dataset(LISTOPS, 150, 100, length, seed=0)
    assert len(set(rows_of(dataset))) == 250
    assert dataset.overlap == 0
    for part in (dataset.train, dataset.held_out):
        assert torch.equal(part.labels, LISTOPS.label(part.tokens))


def test_the_arguments_alone_decide_what_replaces_repeated_sequences() -> None:
    first, again = (draw_dataset(LISTOPS, 150, 100, 4, seed=0) for _ in range(2))
    assert rows_of(first) == rows_of(again)


def test_listops_keeps_the_draws_that_do_not_collide() -> None:
    drawn = LISTOPS.sample(150, 4, stream(0, "train"))[0].tolist()
    kept = draw_dataset(LISTOPS, 150, 100, 4, seed=0).train.tokens.tolist()
    fresh = [index for index, row in enumerate(drawn) if row not in drawn[:index]]
    assert 0 < len(fresh) < 150
    assert [kept[index] for index in fresh] == [drawn[index] for index in fresh]


def test_too_few_different_sequences_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match=r"^listops: length 4 has too few different sequences"):
        draw_dataset(LISTOPS, 300, 101, 4, seed=0)


def test_other_tasks_may_repeat_sequences() -> None:
    assert len(set(rows_of(draw_dataset(PARITY, 20, 20, 2, seed=0)))) == 4


def test_samples_go_to_a_device() -> None:
    samples = draw_dataset(PARITY, 5, 5, 8, seed=0).train.to(torch.device("meta"))
    assert {samples.tokens.device.type, samples.labels.device.type, samples.real.device.type} == {"meta"}


def test_a_file_is_split_by_the_seed(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("sequence,label\n" + "".join(f"{number} x,{number % 3}\n" for number in range(100)))
    task = FileTask(path)
    first, again, other = (draw_dataset(task, 70, 30, 2, seed) for seed in (0, 0, 1))
    assert rows_of(first) == rows_of(again) != rows_of(other)
    assert (len(first.train), len(first.held_out), first.overlap) == (70, 30, 0)
    assert sorted(rows_of(first)) == sorted(map(tuple, task.tokens.tolist()))


def test_repeated_rows_of_a_file_are_counted_as_overlap(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("sequence,label\n" + "0 1,a\n" * 10)
    assert draw_dataset(FileTask(path), 5, 5, 2, seed=0).overlap == 5
