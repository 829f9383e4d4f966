"""Labelled rows of a table: which columns hold what, and the sequences they make."""

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from semfocus.randomness import stream
from semfocus.subjects.batch import NO_TARGET, Batch, TrialData
from semfocus.subjects.vocabulary import Vocabulary
from semfocus.tasks.data.files import (
    ID_NAMES,
    LABEL_NAMES,
    SEQUENCE_NAMES,
    TEXT_NAMES,
    no_column,
    read_fields,
    split_indices,
    split_of,
)
from semfocus.tasks.data.text import HELD_OUT_SHARE
from semfocus.words import count_of

#: of rows of pairs: what is to be written
TARGET = "target"


def sequence_column(path: Path, rows: Sequence[tuple[int, dict[str, Any]]]) -> str:
    """Token ids if there are any: a model of its own vocabulary was meant."""
    line, fields = rows[0]
    found = next((name for name in (*ID_NAMES, *SEQUENCE_NAMES) if name in fields), None)
    if found is None:
        raise ValueError(no_column(path, line, fields, SEQUENCE_NAMES, "sequence"))
    return found


def sequences_of(
    path: Path, rows: Sequence[tuple[int, dict[str, Any]]], column: str, vocabulary: Vocabulary
) -> tuple[list[list[int]], str]:
    values = [(line, fields.get(column)) for line, fields in rows]
    if column in ID_NAMES:
        return [_ids(path, line, value, vocabulary) for line, value in values], "token ids"
    if column in TEXT_NAMES:
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


def label_of(path: Path, line: int, fields: dict[str, Any]) -> str:
    name = next((each for each in LABEL_NAMES if each in fields), None)
    if name is None:
        raise ValueError(
            f"{no_column(path, line, fields, LABEL_NAMES, 'label')}. "
            "Rows without labels can be a text file (.txt), for language modelling"
        )
    label = str("" if fields[name] is None else fields[name]).strip()
    if not label:
        raise ValueError(f"{path}, line {line}: the label is empty")
    return label


#: so many may have hardly a row each; more are no classes then
_MANY_CLASSES = 20


def classes_of(path: Path) -> tuple[str, ...]:
    """The labels of a table, sorted: numbers by value."""
    every = [label_of(path, line, fields) for line, fields in read_fields(path)]
    labels = set(every)
    if len(labels) > _MANY_CLASSES and 2 * len(labels) > len(every):
        raise ValueError(
            f"{path}: {len(labels)} different labels in {len(every)} rows: labels must be classes with several rows each, "
            "not measured numbers (a column target of texts is for an encoder-decoder, such as T5 or BART)"
        )
    if len(labels) < 2:
        raise ValueError(
            f"{path}: needs at least 2 different labels, got {', '.join(sorted(labels)) or 'none'}"
        )
    return tuple(
        sorted(labels, key=lambda each: (not each.isdigit(), int(each) if each.isdigit() else 0, each))
    )


def read_table(
    path: Path, vocabulary: Vocabulary, context: int | None, digest: str, known: Collection[str] = ()
) -> TrialData:
    """`known`: digests of data that runs exist of; a trial of version 0.1 continues with the rows that it held out."""
    rows = list(read_fields(path))
    classes = classes_of(path)
    column = sequence_column(path, rows)
    sequences, name = sequences_of(path, rows, column, vocabulary)
    sequences, num_cut = _fitted(path, rows, column, sequences, vocabulary, context)
    tokens = _filled(sequences, vocabulary.padding_id(1 + max(max(ids) for ids in sequences)))
    longest = tokens.shape[1]
    labels = torch.tensor([classes.index(label_of(path, line, fields)) for line, fields in rows])
    everything = Batch(tokens, _real(sequences), labels)
    by_label = hashlib.sha256(f"{digest} by label".encode()).hexdigest()
    is_old = digest in known and by_label not in known  # version 0.1 drew rows without regard to labels
    train, held_out, is_drawn = _split(path, rows, None if is_old else labels)
    as_before = " as in version 0.1, whose runs are continued" * (is_drawn and is_old)
    cut = f", {num_cut} of them cut," * bool(num_cut)
    return TrialData(
        "classification",
        everything.rows(train),
        everything.rows(held_out),
        classes,
        by_label if is_drawn and not is_old else digest,
        f"{count_of(len(rows), 'row')}{cut} of up to {count_of(longest, 'token')} ({name}), {count_of(len(classes), 'class')}, {count_of(len(held_out), 'row')} held out{as_before}",
    )


def has_targets(path: Path) -> bool:
    """Whether rows have a target and no label: a text to write, if the model is one that writes."""
    _, fields = next(iter(read_fields(path)))
    return TARGET in fields and not any(name in fields for name in LABEL_NAMES if name != TARGET)


def read_pairs(path: Path, vocabulary: Vocabulary, context: int | None, digest: str) -> TrialData:
    """Rows of a text and a target, both read alike: by the tokenizer, as bytes, symbols or ids."""
    rows = list(read_fields(path))
    column = sequence_column(path, rows)
    of_target = [(line, {column: fields.get(TARGET)}) for line, fields in rows]
    both, name = sequences_of(path, [*rows, *of_target], column, vocabulary)
    sources, targets = both[: len(rows)], both[len(rows) :]
    if column in TEXT_NAMES:
        targets = [vocabulary.of_target(str(fields[column] or "")) for _, fields in of_target]
    sources, num_cut = _fitted(path, rows, column, sources, vocabulary, context)
    targets, num_targets_cut = _fitted(path, rows, TARGET, targets, vocabulary, context)
    tokens = _filled(sources, vocabulary.padding_id(1 + max(max(ids) for ids in sources)))
    wanted = _filled(targets, NO_TARGET)
    everything = Batch(tokens, _real(sources), targets=wanted)
    train, held_out, _ = _split(path, rows, None)
    cut = f", {num_cut} texts and {num_targets_cut} targets cut," * bool(num_cut or num_targets_cut)
    return TrialData(
        "pairs",
        everything.rows(train),
        everything.rows(held_out),
        (),
        hashlib.sha256(f"{digest} pairs".encode()).hexdigest(),
        f"{count_of(len(rows), 'pair')}{cut} of up to {tokens.shape[1]} and {count_of(wanted.shape[1], 'token')} ({name}), {count_of(len(held_out), 'pair')} held out",
    )


def _fitted(
    path: Path,
    rows: Sequence[tuple[int, dict[str, Any]]],
    column: str,
    sequences: list[list[int]],
    vocabulary: Vocabulary,
    context: int | None,
) -> tuple[list[list[int]], int]:
    """Sequences that the model can read, ended as it wants them; and how many of them were cut."""
    limit = context or vocabulary.max_length
    found = []
    for (line, _), ids in zip(rows, sequences, strict=True):
        if not ids:
            raise ValueError(f"{path}, line {line}: {column} is empty")
        if vocabulary.eos_id is not None and vocabulary.eos_id in ids[:-1]:
            raise ValueError(
                f"{path}, line {line}: the token {vocabulary.eos_id} stands inside {column}, and ends every sequence of "
                "this model: it may only be the last, and is added where it is missing"
            )
        found.append(vocabulary.ended(ids))
        if context is None and limit is not None and len(found[-1]) > limit:
            raise ValueError(
                f"{path}, line {line}: {len(found[-1])} tokens, but the model allows {limit} positions: "
                f"use --context {limit} to cut longer rows, or give a model with more positions"
            )
    num_cut = sum(context is not None and len(ids) > context for ids in found)
    return [vocabulary.cut(ids, limit) for ids in found], num_cut


def _filled(sequences: list[list[int]], value: int) -> Tensor:
    longest = max(map(len, sequences))
    return torch.tensor([[*ids, *[value] * (longest - len(ids))] for ids in sequences])


def _real(sequences: list[list[int]]) -> Tensor | None:
    longest = max(map(len, sequences))
    real = torch.tensor([[place < len(ids) for place in range(longest)] for ids in sequences])
    return None if bool(real.all()) else real


def _by_turns(order: Tensor, labels: Tensor) -> Tensor:
    """The same rows in an order of which every part has the labels in their shares.

    >>> _by_turns(torch.arange(6), torch.tensor([0, 0, 0, 0, 1, 1])).tolist()
    [0, 4, 1, 2, 5, 3]
    """
    places = torch.zeros(len(order), dtype=torch.float64)
    for label in labels.unique():
        of_label = (labels[order] == label).nonzero().squeeze(1)
        places[of_label] = (torch.arange(len(of_label), dtype=torch.float64) + 0.5) / len(of_label)
    return order[places.argsort(stable=True)]


def _split(
    path: Path, rows: Sequence[tuple[int, dict[str, Any]]], labels: Tensor | None
) -> tuple[Tensor, Tensor, bool]:
    """By a `split` column if there is one, else at random, always alike, with every label's share; and which
    of the two.

    Without `labels` a part may have any share of them.
    """
    lines = [line for line, _ in rows]
    said = split_indices(path, lines, [split_of(path, line, fields) for line, fields in rows])
    if said is not None:
        train, held_out = (torch.tensor(part, dtype=torch.long) for part in said)
    else:
        order = torch.randperm(len(rows), generator=stream(0, "split"))
        order = order if labels is None else _by_turns(order, labels)
        num = max(1, round(len(rows) * HELD_OUT_SHARE))
        train, held_out = order[num:], order[:num]
    if not len(train) or not len(held_out):
        raise ValueError(
            f"{path}: needs rows to train on and rows to hold out, got {len(train)} and {len(held_out)}"
        )
    return train, held_out, said is None
