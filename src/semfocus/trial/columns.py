"""The columns of a table: which one holds the sequences, what they are as token ids, and the label of a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semfocus.tasks.data_files import LABEL_NAMES, SEQUENCE_NAMES
from semfocus.trial.encoding import Vocabulary

_TEXT_NAMES = ("text", "sentence", "input", "source")
_ID_NAMES = ("input_ids", "token_ids")


def sequence_column(path: Path, rows: Sequence[tuple[int, dict[str, Any]]]) -> str:
    line, fields = rows[0]
    known = (*_ID_NAMES, *SEQUENCE_NAMES, *_TEXT_NAMES)
    found = next((name for name in known if name in fields), None)
    if found is None:
        raise ValueError(
            f"{path}, line {line}: no column with sequences (one of {', '.join(dict.fromkeys(known))}); found {', '.join(fields)}"
        )
    return found


def sequences_of(
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


def label_of(path: Path, line: int, fields: dict[str, Any]) -> str:
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
