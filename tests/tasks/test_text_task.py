import hashlib
from pathlib import Path

import pytest
import torch

from semfocus.randomness import stream
from semfocus.runs import RunSpec
from semfocus.tasks import TextTask, draw_dataset, parse_task
from semfocus.tasks.data.text import STDLIB_MODULES
from semfocus.tasks.data.tokenizers import encoded_parts

LINES = "".join(f"line {number}: äöü and so on, {number * 7 % 13} times\n" for number in range(400))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "book.txt"
    file.write_text(LINES, encoding="utf-8")
    return file


def test_labels_are_the_next_tokens(path: Path) -> None:
    data = draw_dataset(parse_task(f"text:{path}"), 30, 10, 16, seed=1)
    content = path.read_bytes()
    for part in (data.train, data.held_out):
        assert part.tokens.shape == part.labels.shape
        assert part.tokens.dtype == part.labels.dtype == torch.int64
        assert torch.equal(part.tokens[:, 1:], part.labels[:, :-1])
        for tokens, labels in zip(part.tokens, part.labels, strict=True):
            assert bytes([*tokens.tolist(), int(labels[-1])]) in content
    assert bool(data.train.real.all())


def test_the_held_out_part_is_the_end_and_no_window_crosses_the_cut(path: Path) -> None:
    task = parse_task(f"text:{path}")
    assert isinstance(task, TextTask)
    train, held_out = task.text.parts
    assert train + held_out == path.read_bytes()
    assert abs(len(held_out) - len(path.read_bytes()) / 10) <= 3
    train.decode(), held_out.decode()  # a cut between characters
    data = draw_dataset(task, 500, 1000, 16, seed=1)
    assert len(data.held_out) == (len(held_out) - 1) // 16 < 1000, "as many as lie side by side"
    for windows, content in ((data.train, train), (data.held_out, held_out)):
        for tokens, labels in zip(windows.tokens, windows.labels, strict=True):
            assert bytes([*tokens.tolist(), int(labels[-1])]) in content
    together = bytes(data.held_out.tokens.flatten().tolist())
    assert held_out.startswith(together), "side by side, from the beginning"


def test_a_cut_inside_a_character_moves_before_it(tmp_path: Path) -> None:
    for extra in range(6):
        file = tmp_path / f"{extra}.txt"
        file.write_text("x" * extra + "€" * 100, encoding="utf-8")
        task = parse_task(f"text:{file}")
        assert isinstance(task, TextTask)
        for part in task.text.parts:
            part.decode()


def test_windows_are_a_function_of_the_seed_and_held_out_ones_are_the_same_for_all(path: Path) -> None:
    task = parse_task(f"text:{path}")
    first, again, other = (draw_dataset(task, 20, 10, 16, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(first.train.tokens, again.train.tokens)
    assert not torch.equal(first.train.tokens, other.train.tokens)
    assert torch.equal(first.held_out.tokens, other.held_out.tokens)


def test_a_text_counts_by_its_content(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.md"
    copy.write_bytes(path.read_bytes())
    first, second = RunSpec(task=f"text:{path}"), RunSpec(task=f"text:{copy}")
    assert first.data == hashlib.sha256(path.read_bytes()).hexdigest()
    assert first.digest == second.digest
    assert first.digest != RunSpec(task=f"text:{path}", training={"tokenizer": "bpe:400"}).digest
    again = RunSpec(**first.model_dump(mode="json"))
    assert again.digest == first.digest
    path.write_text(LINES + "more", encoding="utf-8")
    assert RunSpec(task=f"text:{path}").digest != first.digest
    with pytest.raises(ValueError, match="changed since"):
        RunSpec(**first.model_dump(mode="json"))


def test_a_folder_is_its_files_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "b").mkdir(parents=True)
    (folder / "b" / "2.txt").write_text("second")
    (folder / "a.txt").write_text("first\n")
    (folder / ".hidden").write_bytes(b"\xff")
    task = parse_task(f"text:{folder}")
    assert isinstance(task, TextTask)
    assert task.text.content == b"first\nsecond\n"


def test_the_standard_library_is_a_text() -> None:
    task = parse_task("text:stdlib")
    assert str(task) == "text:stdlib"
    assert isinstance(task, TextTask)
    assert b"import" in task.text.content
    assert len(task.text.content) > 1_000_000
    assert list(STDLIB_MODULES) == sorted(set(STDLIB_MODULES))
    assert RunSpec(task="text:stdlib").task == "text:stdlib"
    assert task.text_of(task.tokens_of("def f(ä):\n")) == "def f(ä):\n"
    assert 0.05 < task.chance_accuracy < 0.5


@pytest.mark.parametrize(
    ("content", "length", "message"),
    [
        (b"", 16, "empty"),
        (b"short", 16, "length 16 is not possible"),
        (b"x", 1, "longer text"),
        (b"good\nbad \xff\n", 2, "line 2: not UTF-8"),
    ],
)
def test_unusable_texts_are_one_line_errors(
    tmp_path: Path, content: bytes, length: int, message: str
) -> None:
    file = tmp_path / "bad.txt"
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        RunSpec(task=f"text:{file}", training={"length": length})
    assert str(file) in str(error.value) or "text:" in str(error.value)


def test_what_is_no_text_is_refused(tmp_path: Path, path: Path) -> None:
    for task, message in ((f"text:{tmp_path}/no", "no such file"), ("text:", "needs a path")):
        with pytest.raises(ValueError, match=message):
            parse_task(task)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no files"):
        parse_task(f"text:{tmp_path}/empty")
    for changes, message in (
        ({"training": {"length": (10, 20)}}, "one number"),
        ({"pattern": "banded(5)+G1"}, "global tokens"),
        ({"training": {"replace_sample": 0}}, "replace_sample"),
        ({"training": {"tokenizer": "words:100"}}, "unigram:SIZE"),
    ):
        with pytest.raises(ValueError, match=message):
            RunSpec(task=f"text:{path}", **changes)
    with pytest.raises(ValueError, match="tokenizer is for text"):
        RunSpec(task="parity", training={"tokenizer": "bpe:400"})
    with pytest.raises(ValueError, match="does not follow"):
        parse_task(f"text:{path}").label(torch.zeros(1, 3, dtype=torch.int64))


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_pieces_are_learned_from_the_training_part_alone(path: Path, kind: str) -> None:
    pytest.importorskip("sentencepiece")
    task = RunSpec(task=f"text:{path}", training={"tokenizer": f"{kind}:400", "length": 8}).task_value
    assert isinstance(task, TextTask)
    assert (task.vocab_size, task.num_classes, len(task.symbols)) == (401, 400, 400)
    train, held_out = encoded_parts(task.tokenizer_name, task.text)
    for ids, content in zip((train, held_out), task.text.parts, strict=True):
        assert task.text_of(ids) == content.decode(), "nothing is lost"
        assert len(ids) < len(content)
    # another end of the text, of other characters, is another text with the same tokenizer
    changed = path.with_name("changed.txt")
    num = len(task.text.parts[1])
    changed.write_bytes(task.text.parts[0] + b"x" * (num % 3) + "€".encode() * (num // 3))
    other = parse_task(f"text:{changed}")
    assert isinstance(other, TextTask)
    assert other.with_tokenizer(f"{kind}:400").tokenizer.digest == task.tokenizer.digest
    assert other.digest != task.digest
    data = draw_dataset(task, 10, 10, 8, seed=1)
    assert torch.equal(data.train.tokens[:, 1:], data.train.labels[:, :-1])
    assert "\n" in task.text_of(task.sample(1, 100, stream(1, "sample"))[0][0])


def test_a_text_too_small_for_a_tokenizer_says_so(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    file = tmp_path / "small.txt"
    file.write_text("a b c d\n" * 40)
    task = RunSpec(task=f"text:{file}", training={"tokenizer": "unigram:4096", "length": 4}).task_value
    with pytest.raises(ValueError, match="no tokenizer unigram:4096") as error:
        draw_dataset(task, 10, 10, 4, seed=1)
    assert "\n" not in str(error.value)


def test_without_sentencepiece_the_error_names_the_extra(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    task = RunSpec(task=f"text:{path}", training={"tokenizer": "unigram:500", "length": 4}).task_value
    with pytest.raises(ValueError, match=r"semfocus\[text\]"):
        draw_dataset(task, 10, 10, 4, seed=1)
