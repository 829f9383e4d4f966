"""The user's data as sequences of one length: windows of a text, or labelled rows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from semfocus.randomness import stream
from semfocus.tasks.data_files import LABEL_NAMES, SEQUENCE_NAMES, SPLIT_NAMES, read_fields
from semfocus.trial.encoding import Vocabulary

Kind = Literal["text", "classification"]
#: share of a text, from its end, or of rows, that is held out
HELD_OUT_SHARE = 0.1
#: of a text, where neither the model nor the user says more
DEFAULT_CONTEXT = 128
_TABLES = (".csv", ".tsv", ".jsonl")
_TEXT_NAMES = ("text", "sentence", "input", "source")
_ID_NAMES = ("input_ids", "token_ids")


@dataclass(frozen=True)
class Batch:
    """Sequences (num, length); `real` is False at padding (None: there is none); `labels` (num,) are classes."""

    tokens: Tensor
    real: Tensor | None = None
    labels: Tensor | None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, rows: Tensor | slice) -> "Batch":
        return Batch(
            self.tokens[rows],
            None if self.real is None else self.real[rows],
            None if self.labels is None else self.labels[rows],
        )

    def to(self, device: torch.device) -> "Batch":
        real, labels = (None if each is None else each.to(device) for each in (self.real, self.labels))
        return Batch(self.tokens.to(device), real, labels)


@dataclass(frozen=True)
class TrialData:
    """Training and held-out sequences, the same for every arm and seed."""

    kind: Kind
    train: Batch
    held_out: Batch
    classes: tuple[str, ...]
    digest: str
    description: str

    @property
    def longest(self) -> int:
        return self.train.tokens.shape[1]


def kind_of(path: Path) -> Kind:
    """A table is classification, anything else text."""
    if not path.is_file():
        raise ValueError(f"{path}: no such data file")
    return "classification" if path.suffix.lower() in _TABLES else "text"


def classes_of(path: Path) -> tuple[str, ...]:
    """The labels of a table, sorted: numbers by value."""
    labels = {_label(path, line, fields) for line, fields in read_fields(path)}
    if len(labels) < 2:
        raise ValueError(
            f"{path}: needs at least 2 different labels, got {', '.join(sorted(labels)) or 'none'}"
        )
    return tuple(
        sorted(labels, key=lambda each: (not each.isdigit(), int(each) if each.isdigit() else 0, each))
    )


def read_data(path: Path, vocabulary: Vocabulary, context: int | None = None) -> TrialData:
    """`context`: the length of a text's windows; rows that are longer are cut to it."""
    if context is not None and vocabulary.max_length is not None and context > vocabulary.max_length:
        raise ValueError(
            f"--context {context} is longer than the model allows: {vocabulary.max_length} positions"
        )
    read = _read_text if kind_of(path) == "text" else _read_table
    return read(path, vocabulary, context, hashlib.sha256(path.read_bytes()).hexdigest())


def _read_text(path: Path, vocabulary: Vocabulary, context: int | None, digest: str) -> TrialData:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    length = context or min(DEFAULT_CONTEXT, vocabulary.max_length or DEFAULT_CONTEXT)
    ids = vocabulary.of_text(text)
    num = len(ids) // length
    if num < 10:
        raise ValueError(
            f"{path}: {len(ids)} tokens make {num} windows of {length}; a trial needs 10 or more: "
            "give a longer text, or a smaller --context"
        )
    windows = torch.tensor(ids[: num * length]).view(num, length)
    held_out = max(1, round(num * HELD_OUT_SHARE))
    return TrialData(
        "text",
        Batch(windows[: num - held_out]),
        Batch(windows[num - held_out :]),
        (),
        digest,
        f"{num} windows of {length} tokens ({vocabulary.name}), the last {held_out} held out",
    )


def _read_table(path: Path, vocabulary: Vocabulary, context: int | None, digest: str) -> TrialData:
    rows = list(read_fields(path))
    classes = classes_of(path)
    column = _sequence_column(path, rows)
    sequences, name = _sequences(path, rows, column, vocabulary)
    limit = context or vocabulary.max_length
    for (line, _), ids in zip(rows, sequences, strict=True):
        if not ids:
            raise ValueError(f"{path}, line {line}: {column} is empty")
        if context is None and limit is not None and len(ids) > limit:
            raise ValueError(
                f"{path}, line {line}: {len(ids)} tokens, but the model allows {limit} positions: "
                f"say --context {limit} to cut longer rows, or give a model with more positions"
            )
    sequences = [ids[:limit] for ids in sequences]
    longest = max(map(len, sequences))
    pad = vocabulary.padding_id(1 + max(max(ids) for ids in sequences))
    tokens = torch.tensor([[*ids, *[pad] * (longest - len(ids))] for ids in sequences])
    real = torch.tensor([[place < len(ids) for place in range(longest)] for ids in sequences])
    labels = torch.tensor([classes.index(_label(path, line, fields)) for line, fields in rows])
    everything = Batch(tokens, None if bool(real.all()) else real, labels)
    train, held_out = _split(path, rows)
    return TrialData(
        "classification",
        everything.rows(train),
        everything.rows(held_out),
        classes,
        digest,
        f"{len(rows)} rows of up to {longest} tokens ({name}), {len(classes)} classes, {len(held_out)} rows held out",
    )


def _split(path: Path, rows: Sequence[tuple[int, dict[str, Any]]]) -> tuple[Tensor, Tensor]:
    """By a `split` column if there is one, else at random, always alike."""
    splits = [SPLIT_NAMES.get(str(fields.get("split") or "").strip().lower()) for _, fields in rows]
    if any(splits):
        train, held_out = (
            torch.tensor([place for place, split in enumerate(splits) if split == part], dtype=torch.long)
            for part in ("train", "held_out")
        )
    else:
        order = torch.randperm(len(rows), generator=stream(0, "split"))
        num = max(1, round(len(rows) * HELD_OUT_SHARE))
        train, held_out = order[num:], order[:num]
    if not len(train) or not len(held_out):
        raise ValueError(
            f"{path}: needs rows to train on and rows to hold out, got {len(train)} and {len(held_out)}"
        )
    return train, held_out


def _sequence_column(path: Path, rows: Sequence[tuple[int, dict[str, Any]]]) -> str:
    line, fields = rows[0]
    known = (*_ID_NAMES, *SEQUENCE_NAMES, *_TEXT_NAMES)
    found = next((name for name in known if name in fields), None)
    if found is None:
        raise ValueError(
            f"{path}, line {line}: no column with sequences (one of {', '.join(dict.fromkeys(known))}); found {', '.join(fields)}"
        )
    return found


def _sequences(
    path: Path, rows: Sequence[tuple[int, dict[str, Any]]], column: str, vocabulary: Vocabulary
) -> tuple[list[list[int]], str]:
    values = [(line, fields.get(column)) for line, fields in rows]
    if column in _ID_NAMES:
        return [_ids(path, line, value, vocabulary) for line, value in values], "token ids"
    if column in _TEXT_NAMES:
        return [vocabulary.of_text(str(value or "")) for _, value in values], vocabulary.name
    symbols = [_symbols(path, line, value) for line, value in values]
    names = sorted({each for row in symbols for each in row})
    vocabulary.require(len(names), f"the {len(names)} symbols of {path}")
    index = {name: place for place, name in enumerate(names)}
    return [vocabulary.of_indices([index[each] for each in row]) for row in symbols], f"{len(names)} symbols"


def _symbols(path: Path, line: int, value: Any) -> list[str]:
    if not isinstance(value, str | list):
        raise ValueError(
            f"{path}, line {line}: a sequence is symbols separated by spaces, or a list, got {value!r}"
        )
    return value.split() if isinstance(value, str) else [str(each) for each in value]


def _ids(path: Path, line: int, value: Any, vocabulary: Vocabulary) -> list[int]:
    try:
        ids = [int(each) for each in (value.split() if isinstance(value, str) else value)]
    except (TypeError, ValueError, AttributeError):
        raise ValueError(f"{path}, line {line}: token ids are whole numbers, got {value!r}"[:200]) from None
    if any(each < 0 or (vocabulary.size is not None and each >= vocabulary.size) for each in ids):
        raise ValueError(
            f"{path}, line {line}: token ids must be below the model's vocab_size, {vocabulary.size}"
        )
    return ids


def _label(path: Path, line: int, fields: dict[str, Any]) -> str:
    name = next((each for each in LABEL_NAMES if each in fields), None)
    if name is None:
        raise ValueError(
            f"{path}, line {line}: no label column (one of {', '.join(LABEL_NAMES)}); found {', '.join(fields)}. "
            "Rows without labels can be a text file (.txt), for language modelling"
        )
    label = str("" if fields[name] is None else fields[name]).strip()
    if not label:
        raise ValueError(f"{path}, line {line}: the label is empty")
    return label
