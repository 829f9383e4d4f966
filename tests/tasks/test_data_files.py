import re
from pathlib import Path

import pytest

from semfocus.tasks import write_rows
from semfocus.tasks.data.files import LABEL_NAMES, SEQUENCE_NAMES, DataRow, read_rows


def rows_of(path: Path, content: str | bytes) -> list[DataRow]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_rows(path))


def plain(rows: list[DataRow]) -> list[tuple[str, str, str]]:
    return [(" ".join(row.symbols), row.label, row.split) for row in rows]


EXPECTED = [("0 1", "a", ""), ("1", "b", "")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("data.csv", "sequence,label\n0 1,a\n1,b\n"),
        ("data.CSV", "sequence,label\n0 1,a\n1,b\n"),
        ("data.csv", "sequence,label\r\n0 1,a\r\n1,b\r\n"),
        ("data.csv", "sequence,label\n0 1,a\n1,b"),
        ("data.csv", "\ufeffsequence,label\n0 1,a\n1,b\n"),
        ("data.csv", "Label, TOKENS \na,0 1\nb,1\n"),
        ("data.csv", 'note,sequence,label\n"hello, you",0 1,a\n,"1",b\n'),
        ("data.csv", "sequence,label\n 0   1 , a \n\n1,b\n\n"),
        ("data.tsv", "Source\tTarget\n0 1\ta\n1\tb\n"),
        ("data.tsv", "\ufefftext\tclass\n0 1\ta\n1\tb\n"),
        ("data.jsonl", '{"sequence": "0 1", "label": "a"}\n{"sequence": "1", "label": "b"}\n'),
        ("data.jsonl", '{"sequence": ["0", "1"], "label": "a"}\n\n{"sequence": [1], "label": "b"}\n'),
        ("data.jsonl", '{"Input": [0, 1], "Class": "a"}\n{"Input": "1", "Class": "b"}'),
        (
            "data.jsonl",
            '\ufeff{"sequence": "0 1", "label": "a"}\n{"sequence": "1", "label": "b", "split": null}\n',
        ),
    ],
)
def test_one_content_in_many_forms(tmp_path: Path, name: str, content: str) -> None:
    assert plain(rows_of(tmp_path / name, content)) == EXPECTED


@pytest.mark.parametrize("name", SEQUENCE_NAMES)
def test_every_name_of_the_sequence_column(tmp_path: Path, name: str) -> None:
    assert plain(rows_of(tmp_path / "data.csv", f"{name},label\n0 1,a\n1,b\n")) == EXPECTED


@pytest.mark.parametrize("name", LABEL_NAMES)
def test_every_name_of_the_label_column(tmp_path: Path, name: str) -> None:
    assert plain(rows_of(tmp_path / "data.csv", f"sequence,{name}\n0 1,a\n1,b\n")) == EXPECTED


def test_integer_labels_become_text(tmp_path: Path) -> None:
    assert plain(rows_of(tmp_path / "data.jsonl", '{"sequence": "x", "label": 0}')) == [("x", "0", "")]


@pytest.mark.parametrize(
    ("word", "split"),
    [
        ("train", "train"),
        ("Train", "train"),
        ("test", "held_out"),
        ("validation", "held_out"),
        ("held_out", "held_out"),
        ("held-out", "held_out"),
        ("", ""),
    ],
)
def test_every_name_of_a_split(tmp_path: Path, word: str, split: str) -> None:
    assert rows_of(tmp_path / "data.csv", f"sequence,label,split\n0,a,{word}\n")[0].split == split
    assert (
        rows_of(tmp_path / "data.jsonl", f'{{"sequence":"0","label":1,"split":"{word}"}}')[0].split == split
    )


def test_rows_know_their_lines(tmp_path: Path) -> None:
    assert [row.line for row in rows_of(tmp_path / "data.csv", "sequence,label\n\n0,a\n\n1,b\n")] == [3, 5]
    lines = '\n{"sequence": "0", "label": 1}\n\n{"sequence": "0", "label": 1}\n'
    assert [row.line for row in rows_of(tmp_path / "data.jsonl", lines)] == [2, 4]


LATE_BYTE = b"sequence,label\n" + b"0 1,a\n" * 5000 + b"0 \xff,a\n"

MALFORMED = [
    (
        "data.csv",
        "tokens,split\n0,a\n",
        ", line 1: no label column (one of label, target, class); found tokens, split",
    ),
    (
        "data.csv",
        "label,split\n0,a\n",
        ", line 1: no sequence column (one of sequence, tokens, text, source, input, sentence, input_ids, token_ids)",
    ),
    (
        "data.csv",
        "",
        ", line 1: no sequence column (one of sequence, tokens, text, source, input, sentence, input_ids, token_ids); found nothing",
    ),
    ("data.csv", "sequence,label\n0,a\n0\n", ", line 3: 1 cells where the header has 2"),
    ("data.tsv", "Source\tTarget\n0\ta\tb\n", ", line 2: 3 cells where the header has 2"),
    (
        "data.csv",
        "sequence,label\n0,a\n  ,a\n",
        ", line 3: the sequence must be symbols separated by spaces, or a list",
    ),
    ("data.csv", "sequence,label\n0, \n", ", line 2: the label is missing or not a single value: ' '"),
    ("data.csv", "sequence,label,split\n0,a,dev\n", ", line 2: split must be train or held_out, got 'dev'"),
    ("data.csv", 'sequence,label\n0,"a\n1,b\n', ", line 3: not a table (unexpected end of data)"),
    ("data.csv", 'sequence,label\n0,"a"b\n', ", line 2: not a table (',' expected after '\"')"),
    ("data.csv", "sequence,label\n", ": has no rows"),
    ("data.tsv", "Source\tTarget\n\n\n", ": has no rows"),
    ("data.jsonl", "\n", ": has no rows"),
    ("data.jsonl", '{"sequence": "0", "label": 1}\n{"sequence": \n', ", line 2: not JSON (Expecting value)"),
    ("data.jsonl", "[1, 2]\n", ", line 1: expected a JSON object, got [1, 2]"),
    ("data.jsonl", '{"label": 1}\n', ", line 1: no sequence column"),
    ("data.jsonl", '{"sequence": "0"}\n', ", line 1: no label column"),
    ("data.jsonl", '{"sequence": [], "label": 1}\n', ", line 1: the sequence must be symbols"),
    ("data.jsonl", '{"sequence": "", "label": 1}\n', ", line 1: the sequence must be symbols"),
    ("data.jsonl", '{"sequence": 7, "label": 1}\n', ", line 1: the sequence must be symbols"),
    (
        "data.jsonl",
        '{"sequence": [0.5], "label": 1}\n',
        ", line 1: symbols must be words or integers, got [0.5]",
    ),
    (
        "data.jsonl",
        '{"sequence": ["a b"], "label": 1}\n',
        ", line 1: symbols must be words or integers, got ['a b']",
    ),
    (
        "data.jsonl",
        '{"sequence": [" "], "label": 1}\n',
        ", line 1: symbols must be words or integers, got [' ']",
    ),
    (
        "data.jsonl",
        '{"sequence": "0", "label": null}\n',
        ", line 1: the label is missing or not a single value: None",
    ),
    (
        "data.jsonl",
        '{"sequence": "0", "label": [1]}\n',
        ", line 1: the label is missing or not a single value: [1]",
    ),
    (
        "data.jsonl",
        '{"sequence": "0", "label": 1, "split": 3}\n',
        ", line 1: split must be train or held_out",
    ),
    ("data.csv", b"sequence,label\n0,a\n\xff,b\n", ", line 3: not UTF-8 text (invalid start byte)"),
    ("data.csv", LATE_BYTE, ", line 5002: not UTF-8 text (invalid start byte)"),
    ("data.jsonl", b'{"sequence": "\xe9", "label": 1}\n', ", line 1: not UTF-8 text"),
    ("data.txt", "sequence,label\n0,a\n", ": the ending must be one of .csv, .tsv, .jsonl"),
    ("data", "sequence,label\n0,a\n", ": the ending must be one of .csv, .tsv, .jsonl"),
]


@pytest.mark.parametrize(("name", "content", "message"), MALFORMED)
def test_a_malformed_file_is_a_one_line_error_with_its_place(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    with pytest.raises(ValueError) as error:
        rows_of(tmp_path / name, content)
    assert type(error.value) is ValueError
    assert str(error.value).startswith(f"{tmp_path / name}{message}")
    assert "\n" not in str(error.value)


def test_a_cell_too_long_for_the_csv_module_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data\.csv, line 2: not a table \(field larger than field limit"):
        rows_of(tmp_path / "data.csv", "sequence,label\n" + "0 " * 100_000 + ",a\n")


@pytest.mark.parametrize("name", ["nowhere.csv", "nowhere.jsonl", "directory.csv"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "directory.csv").mkdir()
    with pytest.raises(ValueError, match=f"^{re.escape(str(tmp_path / name))}: no such file$"):
        list(read_rows(tmp_path / name))


ROWS = [
    ("0 1 1", "a"),
    ("[MAX 2 9 ]", "9"),
    ("x, y ; z", "a, b"),
    ('" quoted "', 'a "b"'),
    ('"', '"'),
    ("größe 数", "ß"),
    ("\\ \\n", "\\"),
]


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".TSV"])
def test_writing_then_reading_is_the_identity(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"data{ending}"
    write_rows(path, ROWS)
    assert [(" ".join(row.symbols), row.label) for row in read_rows(path)] == ROWS


def test_written_tsv_is_the_benchmarks_form(tmp_path: Path) -> None:
    write_rows(tmp_path / "data.tsv", [("[MAX 2 9 ]", "9")])
    assert (tmp_path / "data.tsv").read_bytes() == b"Source\tTarget\n[MAX 2 9 ]\t9\n"


def test_writing_to_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data\.txt: the ending must be one of \.csv, \.tsv, \.jsonl$"):
        write_rows(tmp_path / "data.txt", ROWS)
    assert list(tmp_path.iterdir()) == []


def test_a_row_less_some_symbols() -> None:
    row = DataRow(7, ("(", "1", ")"), "1", "train")
    assert row.without(("(", ")")) == DataRow(7, ("1",), "1", "train")
