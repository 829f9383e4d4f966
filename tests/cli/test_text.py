"""Texts on the command line: trained, sampled, and refused in one line."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app

SMALL = [
    "-s",
    "model.d_model=8",
    "-s",
    "model.d_mlp=8",
    "-s",
    "model.num_blocks=1",
    "--epochs",
    "1",
    "--length",
    "8",
]
SMALL += ["-s", "training.num_train=20", "-s", "training.num_held_out=5", "--quiet"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEMFOCUS_STORE", raising=False)
    Path("book.txt").write_text("once upon a time\nthere was a text\n" * 20, encoding="utf-8")


def test_training_on_a_text_ends_with_its_perplexity() -> None:
    result = CliRunner().invoke(app, ["train", "text:book.txt", "--pattern", "top_k(3)", *SMALL])
    assert result.exit_code == 0, result.stderr
    assert "last held-out perplexity" in result.stdout
    assert "95%" not in result.stdout


def test_files_go_by_their_names_and_two_of_one_name_by_their_folders() -> None:
    """In what is printed and on pages: a page that is shared need not show somebody's home."""
    for folder in ("a", "b"):
        Path(folder).mkdir()
        Path(folder, "book.txt").write_text(
            f"{folder} once upon a time\nthere was a text\n" * 20, encoding="utf-8"
        )
    here = str(Path.cwd())
    said = CliRunner().invoke(app, ["train", "text:a/book.txt", "--json", *SMALL])
    runs = [json.loads(said.stdout)["run"]]
    assert f"text:{here}/a/book.txt" in said.stdout  # a record says all
    said = CliRunner().invoke(app, ["train", "text:a/book.txt", *SMALL])
    assert "text:book.txt  full  seed" in said.stdout
    looked = CliRunner().invoke(app, ["probe", runs[0], "--page", "one.html", "--samples", "4"])
    assert looked.exit_code == 0, looked.stderr
    said = CliRunner().invoke(app, ["train", "text:b/book.txt", "--json", *SMALL])
    runs.append(json.loads(said.stdout)["run"])
    said = CliRunner().invoke(app, ["probe", *runs, "--page", "two.html", "--samples", "4"])
    assert said.exit_code == 0, said.stderr
    assert "full, text:a/book.txt: " in said.stdout
    assert here not in said.stdout
    one, two = (seen(Path(name).read_text(encoding="utf-8")) for name in ("one.html", "two.html"))
    assert "text:book.txt" in one
    assert ">training perplexity<" in one
    assert "accuracy" not in one.partition("</table>")[0].partition("<body")[2]
    assert "text:a/book.txt" in two
    assert "text:b/book.txt" in two
    assert here not in one + two
    assert CliRunner().invoke(app, ["report", "--output", "three.html"]).exit_code == 0
    three = Path("three.html").read_text(encoding="utf-8")
    headings = re.findall(r"<summary><h3>(.*?)</h3>", three)
    assert [re.sub("<[^>]*>", "", each) for each in headings] == ["text:a/book.txt", "text:b/book.txt"]
    sentences = re.findall(r'class="sentence">(.*?)<', three)
    assert {each.partition(": ")[0] for each in sentences} == {"text:a/book.txt", "text:b/book.txt"}


def seen(page: str) -> str:
    """What stands on a page, without what one must point at to see."""
    return re.sub(r'(title|data-name|aria-label)="[^"]*"', "", page)


def test_samples_of_a_text_are_pieces_of_its_end() -> None:
    result = CliRunner().invoke(app, ["tasks", "sample", "text:book.txt", "--length", "9", "--num", "2"])
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == 2
    refused = CliRunner().invoke(
        app, ["tasks", "sample", "text:book.txt", "--length", "9", "--output", "x.csv"]
    )
    assert refused.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["text:missing.txt"], "no such file or folder"),
        (["text:empty.txt"], "empty"),
        (["text:book.txt", "--length", "500"], "a longer text"),
        (["text:book.txt", "--length", "8:16"], "one number"),
        (["text:book.txt", "--pattern", "banded(5)+G1", "--length", "8"], "global tokens"),
        (["text:book.txt", "-s", "training.tokenizer=words", "--length", "8"], "unigram:SIZE"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str) -> None:
    Path("empty.txt").write_text("", encoding="utf-8")
    result = CliRunner().invoke(app, ["train", *arguments])
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("runs").exists()
