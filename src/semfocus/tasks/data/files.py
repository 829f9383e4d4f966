"""Reading and writing labelled sequences: CSV, TSV (`Source<TAB>Target`) and JSONL."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from semfocus.notation import did_you_mean

#: of columns that hold running text and of those that hold token ids: here all are symbols, trials read them as such
TEXT_NAMES = ("text", "source", "input", "sentence")
ID_NAMES = ("input_ids", "token_ids")
SEQUENCE_NAMES = ("sequence", "tokens", *TEXT_NAMES, *ID_NAMES)
LABEL_NAMES = ("label", "target", "class")
SPLIT_NAMES = {
    "train": "train",
    "held_out": "held_out",
    "held-out": "held_out",
    "test": "held_out",
    "validation": "held_out",
}

HeaderCheck = Callable[[Path, dict[str, Any]], None]


@dataclass(frozen=True)
class DataRow:
    """One labelled sequence and the line it came from; `split` is "train", "held_out" or ""."""

    line: int
    symbols: tuple[str, ...]
    label: str
    split: str

    def without(self, symbols: Iterable[str]) -> "DataRow":
        """The row less some symbols."""
        return replace(self, symbols=tuple(each for each in self.symbols if each not in symbols))


def read_rows(path: Path) -> Iterator[DataRow]:
    """The rows of a file by its ending; an error names the line."""
    for line, fields in read_fields(path, _check_header):
        yield _row(path, line, fields)


def read_fields(path: Path, check_header: HeaderCheck | None = None) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line and the named cells of every row, whatever they are; `check_header` sees the columns of a
    table first.
    """
    readers = {".csv": _read_table, ".tsv": _read_table, ".jsonl": _read_jsonl}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path}: the ending must be one of {', '.join(readers)}")
    if not path.is_file():
        raise ValueError(f"{path}: no such file")
    empty = True
    try:
        for line, fields in readers[path.suffix.lower()](path, check_header):
            yield line, fields
            empty = False
    except UnicodeDecodeError:
        raise ValueError(not_utf8(path)) from None
    if empty:
        raise ValueError(f"{path}: has no rows")


def _check_header(path: Path, header: dict[str, Any]) -> None:
    _column(path, 1, header, SEQUENCE_NAMES, "sequence")
    _column(path, 1, header, LABEL_NAMES, "label")


def not_utf8(path: Path) -> str:
    """Where the text breaks: looked up in the whole file, as a reader's own error counts from its last block."""
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return f"{path}, line {line}: not UTF-8 text ({error.reason})"
    return f"{path}: changed while it was read"


def _read_table(path: Path, check_header: HeaderCheck | None) -> Iterator[tuple[int, dict[str, Any]]]:
    dialect = csv.excel_tab if path.suffix.lower() == ".tsv" else csv.excel
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, dialect, strict=True)  # a quote left open is an error
        try:
            header = [name.strip().lower() for name in next(reader, [])]
            if check_header is not None:
                check_header(path, dict.fromkeys(header))
            for cells in reader:
                if cells and len(cells) != len(header):
                    found = f"{len(cells)} cells where the header has {len(header)}"
                    raise ValueError(f"{path}, line {reader.line_num}: {found}")
                if cells:
                    yield reader.line_num, dict(zip(header, cells, strict=True))
        except csv.Error as error:
            raise ValueError(f"{path}, line {reader.line_num}: not a table ({error})") from None


def _read_jsonl(path: Path, _check: HeaderCheck | None) -> Iterator[tuple[int, dict[str, Any]]]:
    with open(path, encoding="utf-8-sig") as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                fields = json.loads(text)
            except json.JSONDecodeError as error:
                raise ValueError(f"{path}, line {line}: not JSON ({error.msg})") from None
            if not isinstance(fields, dict):
                raise ValueError(f"{path}, line {line}: expected a JSON object, got {text.strip()[:40]}")
            yield line, {name.lower(): value for name, value in fields.items()}


def _row(path: Path, line: int, fields: dict[str, Any]) -> DataRow:
    sequence = _column(path, line, fields, SEQUENCE_NAMES, "sequence")
    label = _column(path, line, fields, LABEL_NAMES, "label")
    symbols = sequence.split() if isinstance(sequence, str) else sequence
    if not isinstance(symbols, list) or not symbols:
        raise ValueError(f"{path}, line {line}: the sequence must be symbols separated by spaces, or a list")
    if not all(isinstance(symbol, str | int) and len(str(symbol).split()) == 1 for symbol in symbols):
        raise ValueError(f"{path}, line {line}: symbols must be words or integers, got {symbols!r}"[:200])
    if isinstance(label, dict | list | None) or str(label).strip() == "":
        raise ValueError(f"{path}, line {line}: the label is missing or not a single value: {label!r}")
    return DataRow(line, tuple(map(str, symbols)), str(label).strip(), split_of(path, line, fields))


def split_of(path: Path, line: int, fields: dict[str, Any]) -> str:
    """What a row's `split` cell says: "train", "held_out", or "" if it says nothing."""
    split = str(fields.get("split") or "").strip().lower()
    if split and split not in SPLIT_NAMES:
        raise ValueError(f"{path}, line {line}: split must be train or held_out, got {split!r}")
    return SPLIT_NAMES.get(split, "")


def split_indices(
    path: Path, lines: Sequence[int], splits: Sequence[str]
) -> tuple[list[int], list[int]] | None:
    """The rows to train on and those held out, by what `split_of` said of each; None if it said nothing of any."""
    if not any(splits):
        return None
    if not all(splits):
        raise ValueError(
            f"{path}, line {lines[list(splits).index('')]}: no split, although other rows have one"
        )
    train, held_out = (
        [place for place, each in enumerate(splits) if each == part] for part in ("train", "held_out")
    )
    return train, held_out


def _column(path: Path, line: int, fields: dict[str, Any], names: tuple[str, ...], what: str) -> Any:
    name = next((each for each in names if each in fields), None)
    if name is None:
        raise ValueError(no_column(path, line, fields, names, what))
    return fields[name]


def no_column(path: Path, line: int, fields: Iterable[str], names: Sequence[str], what: str) -> str:
    """What was looked for and what there is, with the likely reason if there is one."""
    found = list(fields)
    hint = next(filter(None, (did_you_mean(each, dict.fromkeys(names)) for each in found)), "")
    if len(found) == 1 and ";" in found[0]:
        hint = "; cells must be separated by commas (.csv) or tabs (.tsv), not by semicolons"
    listed = ", ".join(found) or "nothing"
    return f"{path}, line {line}: no {what} column (one of {', '.join(names)}); found {listed}{hint}"


def write_rows(path: Path, rows: Iterable[tuple[str, str]]) -> None:
    """(sequence, label) pairs, by the file's ending; TSV is the benchmark's `Source<TAB>Target`."""
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".tsv", ".jsonl"):  # before opening, which would empty the file
        raise ValueError(f"{path}: the ending must be one of .csv, .tsv, .jsonl")
    with open(path, "w", encoding="utf-8", newline="") as file:
        if suffix == ".jsonl":
            for sequence, label in rows:
                file.write(json.dumps({"sequence": sequence, "label": label}) + "\n")
        elif suffix == ".csv":
            writer = csv.writer(file)
            writer.writerow(["sequence", "label"])
            writer.writerows(rows)
        else:
            writer = csv.writer(file, csv.excel_tab, lineterminator="\n")
            writer.writerow(["Source", "Target"])
            writer.writerows(rows)
