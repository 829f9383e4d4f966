import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from tests.strict_json import read_json

TINY = [
    *("-q", "--length", "6", "--epochs", "2", "-s", "model.d_model=8", "-s", "model.num_blocks=1"),
    *("-s", "training.num_train=40", "-s", "training.num_held_out=20"),
]


def invoke(*arguments: object, store: Path | None = None):
    where = [] if store is None else ["--store", str(store)]
    return CliRunner().invoke(app, [*map(str, arguments), *where])


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


BAD = {
    "k=0": (["train", "parity", "--pattern", "top_k(0)"], "k must be at least 1, got 0"),
    "k=-1": (["train", "parity", "--pattern", "top_k(-1)"], "k must be at least 1, got -1"),
    "k=2.5": (["train", "parity", "--pattern", "top_k(2.5)"], "k must be an integer, got 2.5"),
    "k=True": (["train", "parity", "--pattern", "top_k(True)"], "'True' is not a number"),
    "k=five": (["train", "parity", "--pattern", "top_k(five)"], "'five' is not a number"),
    "pattern": (["train", "parity", "--pattern", "topk(5)"], "did you mean 'top_k'"),
    "task": (["train", "pairity"], "did you mean 'parity'"),
    "key": (["train", "parity", "-s", "model.num_block=3"], "did you mean 'num_blocks'"),
    "top key": (["train", "parity", "-s", "modle.num_blocks=3"], "did you mean 'model'"),
    "length": (["train", "missing_duplicate", "--length", "41"], "length 41 is not possible, needs an even"),
    "length text": (
        ["train", "parity", "--length", "long"],
        "length must be a number or LOW:HIGH, got 'long'",
    ),
    "file": (["train", "file:nothing.csv"], "nothing.csv: no such file"),
    "data": (["train", "file:bad.csv"], "bad.csv, line 3: 1 cells where the header has 2"),
    "store": (["train", "parity", "--store", "bad.csv/runs"], "cannot write to the store bad.csv/runs"),
    "device": (["train", "parity", "--device", "gpu"], "device 'gpu' cannot be used here"),
    "setting": (["train", "parity", "-s", "seed"], "a setting is written KEY=VALUE, got 'seed'"),
    "run": (["evaluate", "nothing", "--length", "40"], "no run is called 'nothing'"),
    "recipe": (["train", "parity", "--recipe", "nothing.py"], "cannot read the recipe file nothing.py"),
    "study": (["study", "quik"], "did you mean 'quick'"),
    "sample": (["tasks", "sample", "listops", "--length", "3"], "length 3 is not possible"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_with_exit_code_2_and_creates_nothing(
    runs: Path, arguments: list[str], message: str
) -> None:
    Path("bad.csv").write_text("sequence,label\n0 1,a\n0 1\n", encoding="utf-8")
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["bad.csv"]


def test_train_writes_a_run_and_the_same_command_says_it_is_done(runs: Path) -> None:
    first = invoke("train", "even_pairs", "--pattern", "top_k(3)", *TINY, store=runs)
    assert first.exit_code == 0, first.stderr
    assert "last held-out accuracy" in first.stdout
    (directory,) = runs.iterdir()
    names = {path.name for path in directory.iterdir()}
    assert names == {"spec.json", "env.json", "journal.jsonl", "checkpoints", "record.json", "lock"}
    second = invoke("train", "even_pairs", "--pattern", "top_k(3)", *TINY, store=runs)
    assert second.exit_code == 0
    assert second.stdout.startswith("already done: even_pairs")


def test_json_is_the_record(runs: Path) -> None:
    result = invoke("train", "parity", *TINY, "--json", store=runs)
    record = read_json(result.stdout)
    assert record["state"] == "done"
    assert record["spec"]["training"]["length"] == 6


def test_progress_goes_to_standard_error_one_line_an_epoch(runs: Path) -> None:
    result = invoke("train", "parity", *[word for word in TINY if word != "-q"], store=runs)
    assert result.stderr.count(": epoch ") == 3
    assert "held-out" in result.stderr.splitlines()[0]


def test_a_diverging_run_exits_with_1_and_is_recorded(runs: Path) -> None:
    wild = [*TINY, "-s", "training.learning_rate=1e30", "-s", "training.clip_norm=null"]
    result = invoke("train", "parity", *wild, store=runs)
    assert result.exit_code == 1
    assert "diverged" in result.stderr
    assert (
        json.loads(next(runs.iterdir()).joinpath("record.json").read_text(encoding="utf-8"))["state"]
        == "diverged"
    )


def test_evaluate_at_other_lengths(runs: Path) -> None:
    name = read_json(invoke("train", "missing_duplicate", *TINY, "--json", store=runs).stdout)["run"]
    table = invoke("evaluate", name[:8], "--length", "8:30", "--points", "4", "--num", "50", store=runs)
    assert table.exit_code == 0, table.stderr
    lengths = [line.split()[0] for line in table.stdout.splitlines()[3:]]
    assert lengths == ["8", "16", "22", "30"] or lengths == ["8", "14", "22", "30"]
    result = invoke("evaluate", runs / name, "--length", "8", "--json", "--checkpoint", "best", store=runs)
    (row,) = read_json(result.stdout)["results"]
    assert row["length"] == 8
    assert 0.0 <= row["accuracy"] <= 1.0


def test_evaluate_on_a_file_written_by_sample(runs: Path) -> None:
    name = read_json(invoke("train", "even_pairs", *TINY, "--json", store=runs).stdout)["run"]
    written = invoke("tasks", "sample", "even_pairs", "--num", 30, "--length", "3:9", "--output", "more.tsv")
    assert "30 samples written" in written.stdout
    result = invoke("evaluate", name, "--data", "more.tsv", "--json", store=runs)
    assert result.exit_code == 0, result.stderr
    Path("wrong.tsv").write_text("Source\tTarget\n0 1 7\t0\n", encoding="utf-8")
    wrong = invoke("evaluate", name, "--data", "wrong.tsv", store=runs)
    assert wrong.exit_code == 2
    assert "line 2: even_pairs has no symbol '7'" in wrong.stderr


def test_evaluate_refuses_a_pickle(runs: Path) -> None:
    import pickle

    record = read_json(invoke("train", "parity", *TINY, "--json", store=runs).stdout)
    for path in (runs / record["run"] / "checkpoints").glob("last-*/model.safetensors"):
        path.write_bytes(pickle.dumps({"weight": 1}))
    result = invoke("evaluate", record["run"], "--length", "6", store=runs)
    assert result.exit_code == 2
    assert "no usable last checkpoint" in result.stderr
    assert "not the file that was saved" in result.stderr


def test_users_own_data_train_from_a_file(runs: Path) -> None:
    invoke("tasks", "sample", "parity", "--num", 60, "--length", "3:6", "--output", "mine.jsonl")
    options = [word for word in TINY if word not in ("--length", "6")]
    result = invoke("train", "file:mine.jsonl", *options, "--json", store=runs)
    assert result.exit_code == 0, result.stderr
    record = read_json(result.stdout)
    assert (record["num_train"], record["num_held_out"]) == (40, 20)


def test_a_users_recipe_trains_evaluates_and_is_needed_again(runs: Path) -> None:
    from tests.tests_recipe import RECIPE

    Path("mine.py").write_text(RECIPE, encoding="utf-8")
    arguments = ["train", "first_bit", "--pattern", "every_other(2)", "--recipe", "mine.py", *TINY]
    result = invoke(*arguments, "--json", store=runs)
    assert result.exit_code == 0, result.stderr
    name = read_json(result.stdout)["run"]
    again = invoke(*arguments, store=runs)
    assert again.stdout.startswith("already done")
    assert invoke("evaluate", name, "--length", "9", "--recipe", "mine.py", store=runs).exit_code == 0
    without = invoke("evaluate", name, "--length", "9", store=runs)
    assert without.exit_code == 2
    assert "--recipe" in without.stderr


def test_tasks_list_names_every_task() -> None:
    from semfocus.tasks import BUILT_IN

    result = invoke("tasks", "list")
    assert all(name in result.stdout for name in BUILT_IN)


def test_version() -> None:
    out = subprocess.check_output([sys.executable, "-m", "semfocus", "--version"], text=True)
    assert out.startswith("semfocus ")


RECIPE_MISTAKES = {
    "syntax": ("def broken(:\n", "does not load: SyntaxError"),
    "import": ("import nothing_like_this\n", "does not load: ModuleNotFoundError"),
    "not frozen": (
        "from semfocus.mechanisms import Pattern\nclass P(Pattern):\n    name = 'p'\n    def keep(self, s, a, g=None):\n        return a\n",
        "P must be decorated with @dataclass(frozen=True)",
    ),
    "incomplete": (
        "from dataclasses import dataclass\nfrom semfocus.tasks import Task\n@dataclass(frozen=True)\nclass T(Task):\n    name = 't'\n",
        "T must define allows_length, draw, label_row",
    ),
}


@pytest.mark.parametrize(("source", "message"), RECIPE_MISTAKES.values(), ids=RECIPE_MISTAKES.keys())
def test_a_mistake_in_a_recipe_file_is_one_line(runs: Path, source: str, message: str) -> None:
    Path("mine.py").write_text(source, encoding="utf-8")
    result = invoke("train", "parity", "--recipe", "mine.py", store=runs)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_data_file_has_its_own_lengths(runs: Path) -> None:
    Path("mine.csv").write_text("sequence,label\n0 1,a\n1 1 0,b\n", encoding="utf-8")
    result = invoke("train", "file:mine.csv", "--length", "5", store=runs)
    assert result.exit_code == 2
    assert "a data file has its own lengths" in result.stderr
    hint = invoke("train", "mine.csv", store=runs)
    assert "a data file is written file:mine.csv" in hint.stderr


def test_a_pattern_that_keeps_more_keys_than_there_are_is_refused(tmp_path: Path) -> None:
    arguments = ["train", "parity", "--length", "14", "--store", str(tmp_path / "runs"), "--pattern"]
    result = CliRunner().invoke(app, [*arguments, "top_k(999)"])
    assert result.exit_code == 2
    assert "no sequence is longer than 14" in result.output
    assert not (tmp_path / "runs").exists()
