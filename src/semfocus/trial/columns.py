"""The columns of a table: which one holds the sequences, what they are as token ids, and the label of a row."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from semfocus.tasks.data_files import ID_NAMES, LABEL_NAMES, SEQUENCE_NAMES, TEXT_NAMES, no_column
from semfocus.trial.encoding import Vocabulary


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
