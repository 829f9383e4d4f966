"""A user's own data as a task: labelled sequences from a CSV, TSV or JSONL file."""

import hashlib
import math
import warnings
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import Tensor

from semfocus.tasks.data.files import DataRow, read_rows, split_indices
from semfocus.tasks.listops import ListOps
from semfocus.tasks.task import Length, Task

TokensAndLabels = tuple[Tensor, Tensor]

_BENCHMARK_BRACKETS = ("(", ")")


class FileTask(Task):
    """`file:PATH`. Symbols and classes are those of the file, in sorted order.

    A file of nothing but ListOps symbols (with or without the benchmark's extra round brackets,
    which carry no meaning and are dropped) keeps the token ids of the ListOps task.
    """

    name = "file"

    def __init__(self, path: Path) -> None:
        self.path = path
        rows = list(read_rows(path))
        self.digest = file_digest(path)
        symbols = {symbol for row in rows for symbol in row.symbols}
        listops = set(ListOps.symbols)
        if symbols & listops - set("0123456789]") and symbols <= listops | set(_BENCHMARK_BRACKETS):
            rows = [row.without(_BENCHMARK_BRACKETS) for row in rows]
            self.symbols, self.classes = ListOps.symbols, tuple("0123456789")
        else:
            self.symbols = tuple(sorted(symbols, key=_natural))
            self.classes = tuple(sorted({row.label for row in rows}, key=_natural))
        self.num_classes = len(self.classes)
        self.tokens, self.labels = encode(self, self.classes, rows, path)
        self.splits = [row.split for row in rows]
        self.lines = [row.line for row in rows]
        lengths = self.real(self.tokens).sum(1)
        self.paper_length: Length = (int(lengths.min()), int(lengths.max()))
        if lengths.max() == 1 and max(map(len, self.symbols)) > 1:
            warnings.warn(
                f"every row of {path} is one symbol, such as {self.symbols[-1]!r}: symbols are separated by spaces",
                stacklevel=2,
            )
        self.chance_accuracy = float(self.labels.bincount().max() / len(rows))
        self._label_of = dict(zip(map(tuple, self.tokens.tolist()), self.labels.tolist(), strict=True))

    def __str__(self) -> str:
        return f"file:{self.path}"

    def allows_length(self, length: int) -> str | None:
        return None if (self.real(self.tokens).sum(1) == length).any() else "a length that occurs in the file"

    def draw(self, num: int, length: int, generator: torch.Generator) -> TokensAndLabels:
        """Rows of this length, drawn with replacement."""
        rows = (self.real(self.tokens).sum(1) == length).nonzero().squeeze(1)
        chosen = rows[torch.randint(len(rows), (num,), generator=generator)]
        return self.tokens[chosen, :length], self.labels[chosen]

    def label_row(self, row: list[int]) -> int:
        padded = (*row, *[self.pad_id] * (self.tokens.shape[1] - len(row)))
        if padded not in self._label_of:
            raise ValueError(f"{self}: no label is known for a sequence that is not in the file")
        return self._label_of[padded]

    def split(
        self, num_train: int, num_held_out: int, generator: torch.Generator
    ) -> tuple[TokensAndLabels, TokensAndLabels]:
        """By the file's `split` column if it has one, all rows of it; else at random.

        A random split has the numbers asked for; of a file with fewer rows, at most two in seven are
        held out, and at most `num_train` of the others train.
        """
        said = split_indices(self.path, self.lines, self.splits)
        if said is not None:
            train, held_out = said
        else:
            total = len(self.labels)
            order = torch.randperm(total, generator=generator).tolist()
            if num_train + num_held_out > total:
                num_held_out = max(1, min(num_held_out, round(total * 2 / 7)))
            held_out, train = order[:num_held_out], order[num_held_out:][:num_train]
        if not train or not held_out:
            raise ValueError(f"{self}: needs at least one training and one held-out row")
        return (
            (self.tokens[train], self.labels[train]),
            (self.tokens[held_out], self.labels[held_out]),
        )


def encode(task: Task, classes: Iterable[str], rows: list[DataRow], path: Path) -> TokensAndLabels:
    """Token ids (num, longest), padded, and class indices (num,), in a task's own numbering."""
    ids = {symbol: index for index, symbol in enumerate(task.symbols)}
    class_ids = {label: index for index, label in enumerate(classes)}
    for row in rows:
        unknown = next((symbol for symbol in row.symbols if symbol not in ids), None)
        if unknown is not None:
            raise ValueError(f"{path}, line {row.line}: {task.name} has no symbol {unknown!r}")
        if row.label not in class_ids:
            raise ValueError(f"{path}, line {row.line}: {task.name} has no class {row.label!r}")
    tokens = torch.full((len(rows), max(len(row.symbols) for row in rows)), task.pad_id)
    for index, row in enumerate(rows):
        tokens[index, : len(row.symbols)] = torch.tensor([ids[symbol] for symbol in row.symbols])
    return tokens, torch.tensor([class_ids[row.label] for row in rows])


def read_samples(task: Task, classes: Iterable[str], path: Path) -> TokensAndLabels:
    """The sequences and labels of a file in a known task's numbering, e.g. ListOps benchmark files."""
    rows = list(read_rows(path))
    dropped = [symbol for symbol in _BENCHMARK_BRACKETS if symbol not in task.symbols]
    if tuple(task.symbols) == tuple(ListOps.symbols):
        rows = [row.without(dropped) for row in rows]
    return encode(task, classes, rows, path)


def file_digest(path: Path) -> str:
    """The identity of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _natural(word: str) -> tuple[bool, float, str]:
    """Numbers first and by value, then words."""
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    return (True, 0.0, word) if math.isnan(value) else (False, value, word)
