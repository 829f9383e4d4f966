"""Training and held-out samples of one task, drawn from different streams of one seed."""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.randomness import stream
from semfocus.tasks.file_task import FileTask
from semfocus.tasks.task import Length, Task, checked_length
from semfocus.tasks.text_task import TextTask


@dataclass(frozen=True)
class Samples:
    """Sequences (num, length), which tokens are real (num, length), and labels (num,), or (num, length): one
    per token.
    """

    tokens: Tensor
    labels: Tensor
    real: Tensor

    def __len__(self) -> int:
        return len(self.labels)

    def to(self, device: torch.device) -> "Samples":
        return Samples(self.tokens.to(device), self.labels.to(device), self.real.to(device))


@dataclass(frozen=True)
class Dataset:
    """Training and held-out samples, and how many held-out sequences also occur in training."""

    train: Samples
    held_out: Samples
    overlap: int


def draw_dataset(
    task: Task,
    num_train: int,
    num_held_out: int,
    length: Length,
    seed: int,
    replace_sample: int | None = None,
) -> Dataset:
    """The data of a run: a function of these six values alone.

    `replace_sample` is the index of a training sample in whose place another draw stands; all else stays as it is.
    """
    if isinstance(task, FileTask | TextTask) and replace_sample is not None:
        raise ValueError(f"{task}: a sample can be replaced only where others can be drawn")
    if isinstance(task, TextTask):
        _, high = checked_length(task, length)
        parts = task.windows(num_train, num_held_out, high, stream(seed, "train"))
    elif isinstance(task, FileTask):
        parts = task.split(num_train, num_held_out, stream(seed, "split"))
    else:
        train = task.sample(num_train, length, stream(seed, "train"))
        held_out = task.sample(num_held_out, length, stream(seed, "held_out"))
        if task.distinct:
            train, held_out = _distinct(task, [train, held_out], length, seed)
        if replace_sample is not None:
            taken = {tuple(train[0][replace_sample].tolist())}
            if task.distinct:
                taken |= {tuple(row) for tokens, _ in (train, held_out) for row in tokens.tolist()}
            _replace(task, train, replace_sample, length, seed, taken)
        parts = train, held_out
    train_part, held_out_part = (Samples(tokens, labels, task.real(tokens)) for tokens, labels in parts)
    overlap = count_overlap(train_part.tokens, held_out_part.tokens)
    return Dataset(train_part, held_out_part, overlap)


def count_overlap(train: Tensor, held_out: Tensor) -> int:
    """How many rows of `held_out` also occur in `train`."""
    known = set(map(tuple, train.tolist()))
    return sum(tuple(row) in known for row in held_out.tolist())


def _distinct(
    task: Task, parts: list[tuple[Tensor, Tensor]], length: Length, seed: int
) -> list[tuple[Tensor, Tensor]]:
    """Replace repeated sequences by new draws, until none occurs twice in all parts together."""
    seen: set[tuple[int, ...]] = set()
    for tokens, labels in parts:
        again = _repeats(tokens, seen)
        for attempt in range(100):
            if not again:
                break
            drawn = task.sample(len(again), length, stream(seed, f"distinct/{len(seen)}", attempt))
            tokens[again], labels[again] = drawn
            fresh = _repeats(tokens[again], seen)
            again = [again[index] for index in fresh]
        if again:
            raise ValueError(
                f"{task.name}: length {length} has too few different sequences for this many samples"
            )
    return parts


def _replace(
    task: Task,
    part: tuple[Tensor, Tensor],
    index: int,
    length: Length,
    seed: int,
    taken: set[tuple[int, ...]],
) -> None:
    """Put the first draw of a stream of its own that is not taken in the place of one sample."""
    for attempt in range(1000):
        tokens, labels = task.sample(1, length, stream(seed, f"replace/{index}", attempt))
        if tuple(tokens[0].tolist()) not in taken:
            part[0][index], part[1][index] = tokens[0], labels[0]
            return
    raise ValueError(f"{task.name}: length {length} has no other sequence to replace sample {index} by")


def _repeats(tokens: Tensor, seen: set[tuple[int, ...]]) -> list[int]:
    """Indices of rows seen before; the others are added to `seen`."""
    repeats = []
    for index, row in enumerate(map(tuple, tokens.tolist())):
        if row in seen:
            repeats.append(index)
        else:
            seen.add(row)
    return repeats
