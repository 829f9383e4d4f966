"""semfocus study, from the options to the last line it prints."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.cli.options import parse_seeds
from semfocus.cli.study_list import entries
from semfocus.notation import split_list
from semfocus.recipes import RECIPES
from semfocus.runs import open_store
from semfocus.runs.paper_settings import DEVELOPMENT_SEEDS, PAPER_SEEDS
from semfocus.runs.record import Record
from tests.recipes.shrink import Tiny
from tests.strict_json import read_json
from tests.test_study import measured_file

SERIAL = ("--executor", "serial", "-q")


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["study", *map(str, arguments)], env={"COLUMNS": "160"})


def printed(*arguments: object) -> Any:
    """What a study that must succeed prints as JSON."""
    result = invoke(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return read_json(result.stdout)


@pytest.fixture(autouse=True)
def _tiny_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEMFOCUS_STORE", raising=False)
    monkeypatch.setattr("semfocus.studies.cost._PATIENCE", 0.0)
    for name, recipe in RECIPES.items():
        seeds = 3 if name == "tuned" else 2
        monkeypatch.setitem(RECIPES, name, Tiny(recipe, num_tasks=1, num_seeds=seeds))


def test_a_study_ends_with_table_sentence_report_and_the_command(tmp_path: Path) -> None:
    first = invoke("quick", *SERIAL)
    assert first.exit_code == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0] == RECIPES["quick"].QUESTION
    assert "reached" in first.stdout
    for arm in ("full", "full \u00d74", "banded(5)", "block_local(5)", "top_k(5)"):
        assert arm in first.stdout
    assert lines[-2] == "Report: runs/quick.html"
    assert lines[-1].endswith(": semfocus study quick")
    page = Path("runs/quick.html").read_text(encoding="utf-8")
    assert "top_k(5)" in page
    assert '<figure class="picture"' in page
    (plan,) = Path("runs/plans").iterdir()
    assert len(json.loads(plan.read_text(encoding="utf-8"))["runs"]) == 10

    again = invoke("quick", *SERIAL)
    assert again.stdout == first.stdout


def test_the_options_choose_the_runs_and_are_part_of_the_command() -> None:
    options = ["--seeds", "4,5", "--patterns", "full; random(3,fixed)", "--tasks", "parity"]
    options += ["-s", "training.epochs=1", "--stop-at", "0.9", "--store", "here"]
    result = printed("quick", *options, *SERIAL, "--no-report")
    specs = [record["spec"] for record in result["records"]]
    assert {(spec["task"], spec["seed"]) for spec in specs} == {("parity", 4), ("parity", 5)}
    assert [spec["pattern"] for spec in specs[:3]] == ["full", "full", "random(3,fixed)"]
    assert {(spec["training"]["epochs"], spec["training"]["stop_at"]) for spec in specs} == {(1, 0.9)}
    assert result["report"] is None
    assert result["command"] == (
        "semfocus study quick -s training.epochs=1 --seeds 4,5 --patterns 'full; random(3,fixed)' "
        "--tasks parity --stop-at 0.9 --store here"
    )
    assert len(list(Path("here").glob("*/record.json"))) == 6


def test_a_diverged_run_is_shown_with_its_reason_and_exits_with_3() -> None:
    wild = ["-s", "training.learning_rate=1e30", "-s", "training.clip_norm=null"]
    result = invoke("quick", *wild, *SERIAL, "--no-report")
    assert result.exit_code == 3
    assert "10 of 10 runs" in result.stderr
    assert "even_pairs top_k(5) seed 153476998" in result.stdout
    assert "diverged: the" in result.stdout


def test_interrupted_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("semfocus.study.train_runs", interrupt)
    result = invoke("quick", *SERIAL)
    assert result.exit_code == 130
    assert "rerun the command to resume" in result.stderr


ENDLESS = """
from semfocus.studies import grid

def specs():
    base = {
        "task": "parity",
        "model": {"d_model": 8, "d_mlp": 8, "num_blocks": 1},
        "training": {"length": 6, "num_train": 20, "num_held_out": 10, "epochs": 1_000_000},
    }
    return grid(base, pattern=["full"], seed=[1])
"""


def ended_by(number: int, *words: str, ignoring: bool = False) -> "tuple[int, str]":
    """Exit code and errors of a command that is asked to end after some epochs; `ignoring`: as with & in a script."""
    ignored = (lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignoring else None  # type: ignore[func-returns-value]
    command = [sys.executable, "-m", "semfocus", *words, "-q"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=ignored)
    try:
        patient_until = time.monotonic() + 300
        while not any(path.read_bytes().count(b"\n") > 3 for path in Path("runs").glob("*/journal.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < patient_until, "waited too long"
            time.sleep(0.02)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert "Traceback" not in errors
    return process.returncode, errors.splitlines()[-1]


@pytest.mark.parametrize("executor", [pytest.param("pool", marks=pytest.mark.slow), "serial"])
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        pytest.param(signal.SIGINT, 130, "interrupted", marks=pytest.mark.slow),
        (signal.SIGTERM, 143, "terminated"),
    ],
)
def test_a_study_that_is_asked_to_end_saves_its_runs(
    number: int, code: int, word: str, executor: str
) -> None:
    Path("endless.py").write_text(ENDLESS, encoding="utf-8")
    ended = ended_by(number, "study", "endless.py", "--executor", executor, ignoring=number == signal.SIGTERM)
    assert ended == (code, f"error: {word}; rerun the command to resume")
    (record,) = open_store("runs").records()
    assert record["state"] == "interrupted"
    assert list(Path("runs", record["run"], "checkpoints").glob("last-*"))


def test_sigterm_saves_the_run_of_train() -> None:
    setting = ("model.d_model=8", "model.d_mlp=8", "training.num_train=20", "training.num_held_out=10")
    words = [word for each in (*setting, "training.epochs=1000000") for word in ("-s", each)]
    ended = ended_by(signal.SIGTERM, "train", "even_pairs", *words, ignoring=True)
    assert ended == (143, "error: terminated; rerun the command to resume")
    (record,) = open_store("runs").records()
    assert record["state"] == "interrupted"
    (journal,) = Path("runs").glob("*/journal.jsonl")
    epochs = journal.read_text(encoding="utf-8").count('"epoch": ')
    newest = max(Path("runs", record["run"], "checkpoints").glob("last-*"))
    assert epochs - 1 - int(newest.name.split("-")[1]) in (0, 1)


OWN = '''
from dataclasses import dataclass

from semfocus.mechanisms import Pattern
from semfocus.studies import grid

QUESTION = "Is <nothing> enough?"


@dataclass(frozen=True)
class Even(Pattern):
    """The keys at even positions."""

    name = "even"
    family = "input-agnostic"

    def keep(self, scores, allowed, generator=None):
        BODY
        kept = allowed.clone()
        kept[..., 1::2] = False
        return kept


def specs():
    base = {
        "task": "parity",
        "model": {"d_model": 8, "d_mlp": 8, "num_blocks": 1},
        "training": {"length": 6, "num_train": 20, "num_held_out": 10, "epochs": 1},
    }
    return grid(base, pattern=["full", "even"], seed=[1])
'''


def test_a_file_with_its_own_pattern_runs_in_worker_processes() -> None:
    Path("mine.py").write_text(OWN.replace("BODY", ""), encoding="utf-8")
    result = printed("mine.py", "--executor", "pool", "--workers", "1", "-q")
    assert result["question"] == "Is <nothing> enough?"
    assert [record["state"] for record in result["records"]] == ["done", "done"]
    assert len({record["spec"]["recipe"] for record in result["records"]} - {None}) == 1
    assert [arm["label"] for arm in result["summaries"][0]["arms"]] == ["full", "even"]
    page = Path(result["report"]).read_text(encoding="utf-8")
    assert "Is &lt;nothing&gt; enough?" in page


def test_a_run_that_fails_stops_no_other_and_exits_with_3() -> None:
    Path("mine.py").write_text(OWN.replace("BODY", "raise RuntimeError('no keys today')"), encoding="utf-8")
    result = invoke("mine.py", *SERIAL, "--no-report")
    assert result.exit_code == 3
    assert "failed: " in result.stdout
    assert "no keys today" in result.stdout
    assert "1 of 2 runs" in result.stderr
    (trace,) = Path("runs").glob("*/failure.txt")
    assert f"traceback: {trace}" in result.stdout
    text = trace.read_text(encoding="utf-8")
    assert text.rstrip().endswith("RuntimeError: no keys today")
    assert "mine.py" in text
    assert "line" in text


def test_the_traceback_of_a_run_that_ends_well_in_the_end_is_gone() -> None:
    Path("mine.py").write_text(
        OWN.replace(
            "BODY", "import pathlib\n        if not pathlib.Path('mended').exists(): raise OSError('not yet')"
        ),
        encoding="utf-8",
    )
    assert invoke("mine.py", *SERIAL, "--no-report").exit_code == 3
    assert len(list(Path("runs").glob("*/failure.txt"))) == 1
    Path("mended").touch()
    assert invoke("mine.py", *SERIAL, "--no-report").exit_code == 0
    assert list(Path("runs").glob("*/failure.txt")) == []


def test_editing_a_file_leaves_the_runs_of_built_in_patterns_alone() -> None:
    text = OWN.replace("BODY", "")
    Path("mine.py").write_text(text, encoding="utf-8")
    first = {record["spec"]["pattern"]: record for record in printed("mine.py", *SERIAL)["records"]}
    Path("mine.py").write_text(text.replace("enough", "plenty"), encoding="utf-8")
    result = printed("mine.py", *SERIAL)
    second = {record["spec"]["pattern"]: record for record in result["records"]}
    assert first["full"]["run"] == second["full"]["run"]
    assert first["full"]["spec"]["recipe"] is None
    assert first["even"]["run"] != second["even"]["run"], "another text may be another pattern"
    assert [arm["label"] for arm in result["summaries"][0]["arms"]] == ["full", "even"]


def test_patterns_in_a_file_of_their_own_outlive_edits_of_the_study() -> None:
    head, tail = OWN.replace("BODY", "").split("def specs")
    Path("patterns.py").write_text(head, encoding="utf-8")
    study = f"from semfocus.studies import grid\n\nQUESTION = 'Which?'\n\n\ndef specs{tail}"
    Path("mine.py").write_text(study, encoding="utf-8")
    first = printed("mine.py", "--recipe", "patterns.py", *SERIAL)
    Path("mine.py").write_text(study.replace("Which?", "Which one?"), encoding="utf-8")
    second = printed("mine.py", "--recipe", "patterns.py", *SERIAL)
    assert second["question"] == "Which one?"
    assert [each["run"] for each in first["records"]] == [each["run"] for each in second["records"]]
    Path("mine.py").write_text(OWN.replace("BODY", ""), encoding="utf-8")
    result = invoke("mine.py", "--recipe", "patterns.py")
    assert result.exit_code == 2
    assert "of its own" in result.stderr


def test_a_mistake_in_a_file_is_shown_with_its_line() -> None:
    Path("mine.py").write_text("def specs():\n    one = 1\n    return one / 0\n", encoding="utf-8")
    assert "ZeroDivisionError: division by zero (mine.py, line 3)" in invoke("mine.py").stderr
    Path("mine.py").write_text("def specs():\n    return int('many')\n", encoding="utf-8")
    assert "(mine.py, line 2)" in invoke("mine.py").stderr
    Path("mine.py").write_text("x = 1\n1 / 0\n", encoding="utf-8")
    assert "(mine.py, line 2)" in invoke("mine.py").stderr


@pytest.mark.slow
def test_tuned_searches_on_its_own_seeds_and_reports_on_others() -> None:
    result = printed("tuned", "--seeds", "2", "--patterns", "full x1;top_k(5)", *SERIAL)
    assert {record["spec"]["seed"] for record in result["records"]} == set(PAPER_SEEDS[:2])
    (summary,) = result["summaries"]
    assert [arm["label"] for arm in summary["arms"]] == ["full", "top_k(5)"]
    plans = {
        json.loads(path.read_text(encoding="utf-8"))["name"]: path for path in Path("runs/plans").iterdir()
    }
    assert plans.keys() == {"tuned", "tuned_search"}
    searched = json.loads(plans["tuned_search"].read_text(encoding="utf-8"))["runs"]
    seeds = {
        json.loads(Path("runs", run, "spec.json").read_text(encoding="utf-8"))["seed"] for run in searched
    }
    assert seeds == set(DEVELOPMENT_SEEDS)


def test_a_search_with_failed_runs_lists_them_and_exits_with_3(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail_first(specs, store, how, **options) -> list[dict]:
        states = [("failed", "no memory"), ("failed", "no disk"), *[("done", None)] * len(specs)]
        return [
            Record(
                {"run": spec.digest, "spec": spec.model_dump(mode="json"), "state": state, "reason": reason}
            )
            for spec, (state, reason) in zip(specs, states, strict=False)
        ]

    monkeypatch.setattr("semfocus.study.train_runs", fail_first)
    result = invoke("tuned", *SERIAL)
    assert result.exit_code == 3
    *failures, last = result.stderr.splitlines()
    assert [line.rpartition(" failed: ")[2] for line in failures] == ["no memory", "no disk"]
    assert last.startswith("error: 2 of ")


def test_tuned_refuses_to_report_on_the_seeds_of_its_search() -> None:
    result = invoke("tuned", "--seeds", "3,4", *SERIAL)
    assert result.exit_code == 2
    assert "[3]" in result.stderr
    assert not Path("runs").exists() or not any(Path("runs").iterdir())


def test_length_ends_with_accuracies_at_other_lengths() -> None:
    result = printed("length", "--patterns", "full x1", "--seeds", "1", *SERIAL, "--no-report")
    assert [row["length"] for row in result["lengths"]] == [6, 8, 9, 12, 18, 30, 45, 60, 75]
    table = invoke("length", "--patterns", "full x1", "--seeds", "1", *SERIAL, "--no-report")
    assert "even_pairs: accuracy by length" in table.stdout


def test_a_run_that_cannot_be_evaluated_does_not_hide_the_others() -> None:
    options = ("length", "--patterns", "full x1", "--seeds", "1,2", *SERIAL)
    whole = printed(*options)
    for path in Path("runs").glob("*/evaluations.json"):
        path.unlink()
    lost = next(record for record in whole["records"] if record["spec"]["seed"] == 2)
    shutil.rmtree(Path("runs", lost["run"], "checkpoints"))
    Path("runs/length.html").unlink()
    result = invoke(*options)
    assert result.exit_code == 3
    assert "1 of 2 runs" in result.stderr
    lines = result.stdout.splitlines()
    table = next(number for number, line in enumerate(lines) if "even_pairs: accuracy by length" in line)
    error = next(number for number, line in enumerate(lines) if "no usable last checkpoint" in line)
    assert "reached" in "".join(lines[:table])
    assert table < error < lines.index("Report: runs/length.html")
    found = read_json(invoke(*options, "--json").stdout)
    assert found["lengths"] == [row for row in whole["lengths"] if row["seed"] == 1]
    assert "seed 2 has no accuracies" in found["length_errors"][0]


def test_a_study_that_measures_inside_its_models_ends_with_the_section_why() -> None:
    options = (
        "dispersion_small",
        "--patterns",
        "full x1; full x10; top_k(5)",
        "--seeds",
        "1",
        "--executor",
        "serial",
    )
    first = invoke(*options)
    assert first.exit_code == 0, first.stderr
    assert first.stderr.count("] inside: ") == 6, "two epochs of three runs"
    page = Path("runs/dispersion_small.html").read_text(encoding="utf-8")
    assert 'id="why"' in page
    assert "Does a pattern that shrinks the dispersion more learn faster?" in page
    kept = {path: path.read_bytes() for path in Path("runs").glob("*/probes.json")}
    assert len(kept) == 3

    again = invoke(*options)
    assert "inside: " not in again.stderr, "what is known is not measured again"
    assert {path: path.read_bytes() for path in kept} == kept


def test_a_run_that_cannot_be_measured_inside_is_told_and_exits_with_3() -> None:
    options = ("dispersion_small", "--patterns", "full x1", "--seeds", "1", *SERIAL)
    (record,) = printed(*options)["records"]
    Path("runs", record["run"], "probes.json").write_text("{", encoding="utf-8")
    result = invoke(*options)
    assert result.exit_code == 3
    assert "could not be measured inside" in result.stdout
    assert "probes.json is damaged" in result.stdout
    found = read_json(invoke(*options, "--json").stdout)
    assert "damaged" in found["probe_errors"][0]


def test_why_a_measurement_of_ones_own_failed_is_in_the_json(tmp_path: Path) -> None:
    file = measured_file(tmp_path, "1 // 0", measured="divided")
    result = invoke(file, *SERIAL, "--no-report", "--json")
    assert result.exit_code == 3
    lines = read_json(result.stdout)["errors"]["divided"]
    assert len(lines) == 2, "one per run"
    assert all("modulo by zero" in line for line in lines)


def test_a_plan_and_a_list_name_what_will_be_measured() -> None:
    text = invoke("sharpness", "--dry-run").stdout
    assert "(untrained and last, every 20 epochs: 256 sequences" in text
    assert "(every 20 epochs)" in invoke("factorial", "--dry-run").stdout
    assert printed("quick", "--dry-run")["afterwards"] == []
    (said,) = printed("dispersion", "--dry-run")["afterwards"]
    assert "top_k(5)" in said


def test_list_names_every_recipe_with_figure_runs_hours_and_question(monkeypatch) -> None:
    monkeypatch.undo()
    all_entries = entries()
    monkeypatch.setattr("semfocus.cli.study_list.entries", lambda: all_entries)  # takes seconds
    found = {entry["name"]: entry for entry in printed("--list")}
    assert found.keys() == RECIPES.keys()
    assert found["curves"]["runs"] == 560
    assert found["tuned"]["runs"] == 144 + 80
    assert found["curves"]["hours"] > 100 > found["quick"]["hours"] > 0
    text = invoke("--list").stdout
    for name, recipe in RECIPES.items():
        assert name in text
        assert recipe.QUESTION in text
        assert recipe.FIGURE in text


def test_dry_run_counts_and_measures_and_writes_nothing() -> None:
    plan = printed("depth_short", "--dry-run", "--workers", "2")
    assert (plan["runs"], plan["ended"], plan["workers"]) == (24, 0, 2)
    assert len(plan["groups"]) == 12
    deepest = max(plan["groups"], key=lambda group: group["parameters"])
    assert deepest["setting"]["model.num_blocks"] == 11
    total = sum(len(group["seeds"]) * group["seconds_a_run"] for group in plan["groups"])
    assert plan["seconds_to_start"] > 0
    assert plan["seconds"] == pytest.approx(total / 2 + plan["seconds_to_start"])
    text = invoke("depth_short", "--dry-run", "--patterns", "full; top_k(5)").stdout
    assert "an estimate" in text
    assert "of it to start" in text
    assert text.count("num_blocks=11") == 1, "one heading for all arms of a setting"
    assert not any(Path().iterdir())


def test_dry_run_of_a_study_that_ends_once_it_is_decided() -> None:
    """Six seeds of five arms, and at most ten; the recipe's own two are not what would be trained."""
    plan = printed("quick", "--until-decided", "--dry-run")
    assert (plan["runs"], plan["at_most"]["runs"]) == (30, 50)
    assert {tuple(group["seeds"]) for group in plan["groups"]} == {tuple(PAPER_SEEDS[:6])}
    assert plan["at_most"]["seconds"] > plan["seconds"]
    text = invoke("quick", "--until-decided", "--dry-run").stdout
    assert "first look, 6 seeds" in text
    assert "at most 10 seeds: 50 runs" in text
    assert printed("quick", "--dry-run")["at_most"] is None


def test_dry_run_knows_what_is_done() -> None:
    invoke("quick", *SERIAL, "--seeds", "1", "--no-report")
    plan = printed("quick", "--dry-run")
    assert plan["ended"] == 5
    left = sum((len(group["seeds"]) - group["ended"]) * group["seconds_a_run"] for group in plan["groups"])
    assert plan["seconds"] == pytest.approx(left / plan["workers"] + plan["seconds_to_start"])
    invoke("quick", *SERIAL, "--no-report")
    assert printed("quick", "--dry-run")["seconds"] == 0, "nothing is left, and nothing to start for"


def test_dry_run_counts_a_damaged_record_as_ended() -> None:
    invoke("quick", *SERIAL, "--seeds", "1", "--no-report")
    next(Path("runs").glob("*/record.json")).write_text("{")
    assert printed("quick", "--dry-run")["ended"] == 5


BAD = {
    "nothing": ([], "the recipe is missing"),
    "recipe": (["quik"], "did you mean 'quick'"),
    "file": (["nothing.py"], "cannot read the study file nothing.py"),
    "key": (["quick", "-s", "model.num_block=3"], "did you mean 'num_blocks'"),
    "setting": (["quick", "-s", "seed"], "a setting is written KEY=VALUE"),
    "task key": (["quick", "-s", "task=parity"], "chosen with --tasks"),
    "task": (["quick", "--tasks", "pairity"], "did you mean 'parity'"),
    "pattern": (["quick", "--patterns", "full;topk(5)"], "did you mean 'top_k'"),
    "no pattern": (["quick", "--patterns", " ; "], "--patterns names nothing"),
    "seeds": (["quick", "--seeds", "11"], "the paper has 10 seeds"),
    "seed text": (["quick", "--seeds", "1,b"], "--seeds must be a number of seeds, or a list"),
    "seed twice": (["quick", "--seeds", "1,1"], "names a seed twice"),
    "seed twice in digits": (["quick", "--seeds", "1,01"], "names a seed twice"),
    "seed key": (["quick", "-s", "seed=7"], "chosen with --seeds"),
    "pattern key": (["quick", "-s", "pattern=full"], "chosen with --patterns"),
    "stop": (["quick", "--stop-at", "2"], "stop_at"),
    "executor": (["quick", "--executor", "cloud"], "executor must be serial, pool or ray"),
    "log": (["quick", "--log", "paper"], "log must be 'tensorboard'"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_with_exit_code_2(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2, result.stdout
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(Path().glob("runs/*")), "nothing may be left behind"


OWN_MISTAKES = {
    "while loading": ("raise RuntimeError('not\\ntoday')", "does not load: RuntimeError: not today"),
    "in specs()": ("def specs():\n    return 1 / 0", "cannot be made: ZeroDivisionError"),
    "in a value": ("def specs():\n    raise ValueError('k must be odd')", "error: k must be odd"),
}


@pytest.mark.parametrize(("text", "message"), OWN_MISTAKES.values(), ids=OWN_MISTAKES.keys())
def test_a_mistake_in_a_users_file_is_one_line(text: str, message: str) -> None:
    Path("mine.py").write_text(text, encoding="utf-8")
    result = invoke("mine.py")
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("\n") == 1


def test_lists_respect_brackets() -> None:
    assert split_list("full; random(5,fixed), top_k(5)", "x") == ["full", "random(5,fixed)", "top_k(5)"]
    assert split_list("banded(5)+G1", "x") == ["banded(5)+G1"]


def test_seeds_are_a_number_or_a_list() -> None:
    assert parse_seeds("3") == list(PAPER_SEEDS[:3])
    assert parse_seeds("1,2") == [1, 2]
    assert parse_seeds("153476998,") == [153476998]


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_ends_in_its_own_report(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name in ("language_unigram", "language_bpe"):
        pytest.importorskip("sentencepiece")
    monkeypatch.setitem(RECIPES, name, Tiny(RECIPES[name].recipe, num_tasks=2, num_seeds=2))
    result = printed(name, *SERIAL, *(["--seeds", "2"] if name == "tuned" else []))
    assert {record["state"] for record in result["records"]} == {"done"}
    tasks = {summary["task"] for summary in result["summaries"]}
    assert len(tasks) == min(2, len({spec.task for spec in RECIPES[name].recipe.specs()}))
    assert all("full" in [arm["label"] for arm in summary["arms"]] for summary in result["summaries"])
    page = Path(result["report"]).read_text(encoding="utf-8")
    for summary in result["summaries"]:
        assert summary["task"] in page
        assert all(arm["label"] in page for arm in summary["arms"])
    # icons are pictures too: only those in a figure show data
    assert page.count('<figure class="picture"') >= len(result["summaries"])


def test_what_killed_processes_left_half_written_is_cleared_by_the_next_command() -> None:
    Path("short.py").write_text(ENDLESS.replace("1_000_000", "2"), encoding="utf-8")
    words = ["short.py", "--executor", "serial", "--no-report", "-q"]
    assert invoke(*words).exit_code == 0
    (run,) = open_store("runs").directories()
    whole = sorted(Path("runs").rglob("*"))
    for place in ("runs", "runs/plans", str(run.path)):
        Path(place, ".x.json.1-ab.partial").touch()
    Path("runs", ".writable.17").touch()
    half = run.checkpoints / ".last-000001.partial"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    with run.owned():
        assert invoke(*words).exit_code == 0
        assert half.exists(), "its owner may be writing it"
    assert invoke(*words).exit_code == 0
    assert sorted(Path("runs").rglob("*")) == whole
