import hashlib
import itertools
from pathlib import Path

import pytest
import torch

from semfocus.tasks import TASKS, FileTask, read_samples, write_rows
from semfocus.tasks.file_task import _natural
from tests.tasks.helpers import seeded

BENCHMARK = """Source\tTarget
( ( ( [MAX 2 ) 9 ) ] )\t9
( ( ( ( [MIN ( ( ( [SM 8 ) 9 ) ] ) ) 3 ) 4 ) ] )\t3
"""


def task_of(path: Path, content: str) -> FileTask:
    path.write_text(content, encoding="utf-8")
    return FileTask(path)


def numbered(path: Path, num: int) -> FileTask:
    return task_of(
        path, "sequence,label\n" + "".join(f"s{number:03},{number % 2}\n" for number in range(num))
    )


def test_symbols_classes_and_padding(tmp_path: Path) -> None:
    task = task_of(tmp_path / "data.csv", "sequence,label\nb a b,yes\na,no\nc a,no\n")
    assert task.symbols == ("a", "b", "c")
    assert task.classes == ("no", "yes")
    assert task.tokens.tolist() == [[1, 0, 1], [0, 3, 3], [2, 0, 3]]
    assert task.labels.tolist() == [1, 0, 0]
    assert (task.tokens.dtype, task.labels.dtype) == (torch.int64, torch.int64)
    assert (task.pad_id, task.vocab_size, task.num_classes) == (3, 4, 2)
    assert task.paper_length == (1, 3)
    assert task.chance_accuracy == pytest.approx(2 / 3)


def test_numbers_come_first_and_by_value(tmp_path: Path) -> None:
    task = task_of(tmp_path / "data.csv", "sequence,label\nb 10 9 -1,10\na,9\n2.5,nan\n0,B\n0,x\n")
    assert task.classes == ("9", "10", "B", "nan", "x")
    assert task.symbols == ("-1", "0", "2.5", "9", "10", "a", "b")


def test_the_order_does_not_depend_on_how_a_set_happens_to_be_ordered() -> None:
    words = ("1", "2", "10", "inf", "NaN", "nan", "word")
    assert {tuple(sorted(each, key=_natural)) for each in itertools.permutations(words)} == {words}


def test_a_benchmark_listops_file_keeps_the_ids_of_listops_and_loses_its_round_brackets(
    tmp_path: Path,
) -> None:
    task = task_of(tmp_path / "basic_train.tsv", BENCHMARK)
    assert task.symbols == TASKS["listops"].symbols
    assert task.classes == tuple("0123456789")
    assert task.tokens.tolist() == [[11, 2, 9, 14, 15, 15, 15, 15], [10, 13, 8, 9, 14, 3, 4, 14]]
    assert task.labels.tolist() == [9, 3]
    assert torch.equal(TASKS["listops"].label(task.tokens), task.labels)
    assert task.paper_length == (4, 8)


def test_listops_without_round_brackets_is_recognised_too(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    tokens, labels = TASKS["listops"].sample(20, (10, 30), seeded())
    write_rows(
        path,
        [(TASKS["listops"].text_of(row), str(int(label))) for row, label in zip(tokens, labels, strict=True)],
    )
    task = FileTask(path)
    assert task.symbols == TASKS["listops"].symbols
    width = task.tokens.shape[1]
    assert torch.equal(task.tokens, tokens[:, :width])
    assert torch.equal(task.labels, labels)


@pytest.mark.parametrize("sequence", ["1 2 3 ]", "( 1 2 )", "[MAX 1 x ]"])
def test_other_files_keep_their_symbols(tmp_path: Path, sequence: str) -> None:
    task = task_of(tmp_path / "data.csv", f"sequence,label\n{sequence},1\n")
    assert set(task.symbols) == set(sequence.split())
    assert task.classes == ("1",)


def test_a_listops_label_that_is_no_digit_is_an_error_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"data\.csv, line 3: file has no class 'x'$"):
        task_of(tmp_path / "data.csv", "sequence,label\n[MAX 1 2 ],2\n[MAX 1 2 ],x\n")


def test_samples_of_a_file_in_a_known_tasks_numbering(tmp_path: Path) -> None:
    (tmp_path / "data.tsv").write_text(BENCHMARK)
    tokens, labels = read_samples(TASKS["listops"], "0123456789", tmp_path / "data.tsv")
    assert tokens.tolist() == [[11, 2, 9, 14, 15, 15, 15, 15], [10, 13, 8, 9, 14, 3, 4, 14]]
    assert labels.tolist() == [9, 3]


def test_brackets_of_other_tasks_are_kept(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("sequence,label\n( 2 - 4 ),3\n")
    tokens, _ = read_samples(TASKS["modular_arithmetic"], "01234", tmp_path / "data.csv")
    assert tokens.tolist() == [[8, 2, 6, 4, 9]]


@pytest.mark.parametrize(
    ("row", "message"),
    [("0 2,1", "line 3: parity has no symbol '2'"), ("0 1,2", "line 3: parity has no class '2'")],
)
def test_samples_that_a_task_does_not_know_are_an_error_with_the_line(
    tmp_path: Path, row: str, message: str
) -> None:
    (tmp_path / "data.csv").write_text(f"sequence,label\n0 1,1\n{row}\n")
    with pytest.raises(ValueError, match=message):
        read_samples(TASKS["parity"], "01", tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ((70, 30), (70, 30)),
        ((20, 2000), (20, 29)),
        ((5000, 2000), (71, 29)),
        ((10, 5), (10, 5)),
        ((10**6, 1), (99, 1)),
    ],
)
def test_without_a_split_column_the_numbers_are_kept_as_far_as_the_rows_go(
    tmp_path: Path, asked: tuple[int, int], expected: tuple[int, int]
) -> None:
    task = numbered(tmp_path / "data.csv", 100)
    train, held_out = task.split(*asked, seeded())
    assert (len(train[1]), len(held_out[1])) == expected
    train_rows, held_out_rows = (part[0].flatten().tolist() for part in (train, held_out))
    assert len({*train_rows, *held_out_rows}) == sum(expected), "every row at most once"
    assert train_rows != sorted(train_rows), "in random order"


def test_the_split_column_decides_where_there_is_one(tmp_path: Path) -> None:
    content = "sequence,label,split\na,1,train\nb,0,test\nc,1,held_out\nd,0,train\n"
    train, held_out = task_of(tmp_path / "data.csv", content).split(1, 1, seeded())
    assert train[0].tolist() == [[0], [3]]
    assert train[1].tolist() == [1, 0]
    assert held_out[0].tolist() == [[1], [2]]


@pytest.mark.parametrize("content", ["sequence,label,split\na,1,train\nb,1,train\n", "sequence,label\na,1\n"])
def test_both_parts_need_a_row(tmp_path: Path, content: str) -> None:
    with pytest.raises(ValueError, match=r"data\.csv: needs at least one training and one held-out row$"):
        task_of(tmp_path / "data.csv", content).split(5, 5, seeded())


def test_sampling_draws_rows_of_the_file_with_their_labels(tmp_path: Path) -> None:
    task = task_of(tmp_path / "data.csv", "sequence,label\na b,x\nb a,y\na b a,y\n")
    tokens, labels = task.sample(200, (1, 3), seeded())
    assert {(*row, label) for row, label in zip(tokens.tolist(), labels.tolist(), strict=True)} == {
        (0, 1, 2, 0),
        (1, 0, 2, 1),
        (0, 1, 0, 1),
    }
    assert torch.equal(task.label(tokens), labels)
    assert torch.equal(task.label(tokens[(tokens[:, 2] == 2), :2]), labels[tokens[:, 2] == 2])


def test_lengths_that_do_not_occur_are_refused(tmp_path: Path) -> None:
    task = task_of(tmp_path / "data.csv", "sequence,label\na b,x\n")
    with pytest.raises(ValueError, match=r"length 3 is not possible, needs a length that occurs in the file"):
        task.sample(1, 3, seeded())


def test_the_label_of_a_sequence_outside_the_file_is_unknown(tmp_path: Path) -> None:
    task = task_of(tmp_path / "data.csv", "sequence,label\na b,x\n")
    with pytest.raises(ValueError, match="no label is known for a sequence that is not in the file"):
        task.label(torch.tensor([[1, 0]]))


def test_text_and_tokens_go_back_and_forth(tmp_path: Path) -> None:
    task = task_of(
        tmp_path / "data.jsonl", '{"sequence": ["x", 1, "größe"], "label": 0}\n{"sequence": [1], "label": 0}'
    )
    assert [task.text_of(row) for row in task.tokens] == ["x 1 größe", "1"]
    assert torch.equal(task.tokens_of("x 1 größe"), task.tokens[0])


def test_the_digest_is_that_of_the_content(tmp_path: Path) -> None:
    content = "sequence,label\na,1\n"
    first = task_of(tmp_path / "one.csv", content)
    assert first.digest == task_of(tmp_path / "two.csv", content).digest
    assert first.digest == hashlib.sha256(content.encode()).hexdigest()
    assert first.digest != task_of(tmp_path / "three.csv", content + "b,1\n").digest


def test_a_missing_file_is_a_value_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"nowhere\.csv: no such file$"):
        FileTask(tmp_path / "nowhere.csv")


def test_a_row_without_a_split_among_rows_with_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("sequence,label,split\n0 1,a,train\n1 1,b,\n1 0,b,held_out\n")
    with pytest.raises(ValueError, match=r"data\.csv, line 3: no split"):
        FileTask(path).split(1, 1, torch.Generator())


def test_rows_without_spaces_are_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "words.csv"
    file.write_text("sequence,label\nabba,0\nbaba,1\n")
    with pytest.warns(UserWarning, match=r"every row of .* is one symbol, such as 'baba': .*spaces"):
        FileTask(file)
