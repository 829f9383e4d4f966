"""semfocus campaign on the command line: progress, status, and every way to end it."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.report.export import read_export
from semfocus.runs import open_store
from semfocus.runs.record import study_digest
from semfocus.studies import run_study
from tests.campaign.files import campaign_file, start
from tests.execution.minis import events_of
from tests.strict_json import read_json

#: seconds after which nothing will come any more, however busy the machine
PATIENCE = 300.0
ROOT = Path(__file__).parents[2]


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["campaign", *(str(each) for each in arguments)])


@pytest.fixture
def started() -> Iterator[Callable[..., "subprocess.Popen[str]"]]:
    """Campaigns in processes of their own; what a failing test leaves running is ended after it."""
    processes: list[subprocess.Popen[str]] = []

    def begin(*words: object) -> "subprocess.Popen[str]":
        processes.append(start(*words))
        return processes[-1]

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.communicate()


def wait_until(true: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    patient_until = time.monotonic() + PATIENCE
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < patient_until
        time.sleep(0.02)


def lines_written(store: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in store.glob("*/journal.jsonl"))


def test_status_and_plan_before_anything_ran(tmp_path: Path) -> None:
    file, store = campaign_file(tmp_path), tmp_path / "runs"
    words = (file, "--store", store, "--export", tmp_path / "tables")
    before = read_json(invoke(*words, "--status", "--json").output)
    assert [(each["name"], each["runs"], each["left"]) for each in before] == [
        ("first", 4, 4),
        ("second", 2, 2),
        ("all stages", 6, 6),
    ]
    plan = invoke(*words, "--dry-run").output.splitlines()
    assert plan[:3] == ["first:", "  even_pairs full: 2 runs", "  even_pairs top_k(2): 2 runs"]
    assert "4, 4 left" in plan[-3], plan
    alone = invoke(*words, "--dry-run", "--stage", "second").output.splitlines()
    assert alone[:4] == [
        "second:",
        *(f"  even_pairs {arm}: 2 runs" for arm in ("full", "top_k(2)", "top_k(3)")),
    ]
    assert alone[-1].split()[:6] == ["second", "6", "0", "0", "0", "6"]
    assert not store.exists(), "neither writes anything"


@pytest.mark.slow
def test_a_line_per_run_that_ends_and_the_status_afterwards(tmp_path: Path) -> None:
    file, store, tables = campaign_file(tmp_path), tmp_path / "runs", tmp_path / "tables"
    words = (file, "--store", store, "--export", tables)
    done = start(*words, "--workers", 1)
    out, errors = done.communicate(timeout=PATIENCE)
    assert done.returncode == 0, errors
    lines = [line for line in errors.splitlines() if line.startswith(("stage", "["))]
    assert out == ""
    assert [line.partition(" even_pairs")[0] for line in lines] == [
        "stage 1 of 2: first, 0 of 4 runs known",
        *(f"[{number}/4]" for number in range(1, 5)),
        "stage 2 of 2: second, 4 of 6 runs known",
        "[1/2]",
        "[2/2]",
    ]
    text = invoke(*words, "--status").output.splitlines()
    assert text[1].split()[:6] == ["first", "4", "4", "0", "0", "0"]
    assert text[3].split()[:3] == ["all", "stages", "6"]
    assert text[-1] == "4 runs of several stages count in the first of them."
    assert invoke(*words, "--dry-run").output.splitlines()[0] == "first: nothing is left"
    one = read_json(invoke(*words, "--status", "--stage", "second", "--json").output)
    assert [each["name"] for each in one] == ["second"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.slow
def test_a_campaign_that_is_asked_to_end_saves_exports_and_continues(
    number: int, tmp_path: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    """At the lowest priority, its workers too."""
    file, store, tables = campaign_file(tmp_path, epochs=12), tmp_path / "runs", tmp_path / "tables"
    words = (file, "--store", store, "--export", tables, "--workers", 1)
    process = started(*words)
    wait_until(lambda: len(list(store.glob("*/record.json"))) >= 1, process)
    assert os.getpriority(os.PRIO_PROCESS, process.pid) == 19
    process.send_signal(number)
    _, errors = process.communicate(timeout=PATIENCE)
    ended = {path.parent.name for path in store.glob("*/record.json")}
    word, code = ("terminated", 143) if number == signal.SIGTERM else ("interrupted", 130)
    assert process.returncode == code
    assert errors.splitlines()[-1] == f"error: {word}; rerun the command to resume"
    assert len(ended) < 6, "or nothing was interrupted"
    assert {record.run for record in read_export(tables)} == ended
    again = started(*words)
    assert again.wait(timeout=PATIENCE) == 0
    assert len(read_export(tables)) == 6


@pytest.mark.kill
@pytest.mark.slow
def test_a_campaign_that_is_killed_again_and_again_loses_nothing(
    tmp_path: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    """SIGKILL at random moments, with an export after every run: each table is whole, no run is trained twice."""
    file = campaign_file(tmp_path, epochs=8, seeds=8)
    store, tables, moments = tmp_path / "runs", tmp_path / "tables", random.Random(0)
    words = (file, "--store", store, "--export", tables, "--workers", 2, "--every", 0)
    known: dict[str, bytes] = {}
    exported: set[str] = set()
    kills = 0
    while kills < 6:
        process = started(*words)
        before = lines_written(store)
        while process.poll() is None and lines_written(store) < before + 25:
            time.sleep(0.01)
        if process.poll() is not None:
            break
        time.sleep(moments.uniform(0, 0.5))
        process.kill()
        process.wait()
        time.sleep(0.2)  # the workers end with it
        kills += 1
        now = {path.parent.name: path.read_bytes() for path in store.glob("*/record.json")}
        assert {name: now.get(name) for name in known} == known, "a record was lost or changed"
        known = now
        if list(tables.glob("*/runs.parquet")):
            found = {record.run: record for record in read_export(tables)}
            assert exported <= set(found), "an exported run was lost"
            assert all(record.curve for record in found.values()), "a run in the table has its curve"
            exported = set(found)
    assert kills >= 2, "the machine is too fast for this campaign"
    assert known, "some records must have been there to be lost"
    assert exported, "and some exports"
    last = started(*words)
    _, errors = last.communicate(timeout=PATIENCE)
    assert last.returncode == 0, errors
    records = open_store(store).records()
    from semfocus.campaign import open_campaign

    specs = open_campaign(file, store).stage("second").study.specs
    assert {record.run for record in read_export(tables)} == {spec.digest for spec in specs}
    assert study_digest(records) == study_digest(run_study(specs, tmp_path / "alone", executor="serial"))
    print(f"\n{kills} kills; {len(known)} of {len(specs)} runs had ended before the last command")


@pytest.mark.slow
def test_two_campaigns_on_one_store_share_the_work(
    tmp_path: Path, started: Callable[..., "subprocess.Popen[str]"]
) -> None:
    file, store = campaign_file(tmp_path, epochs=30, seeds=4), tmp_path / "runs"
    words = (file, "--store", store, "--export", tmp_path / "tables", "--workers", 1)
    both = [started(*words), started(*words)]
    for process in both:
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, errors
    from semfocus.campaign import open_campaign

    opened = open_campaign(file, store)
    for spec in opened.stage("second").study.specs:
        assert events_of(opened.store, spec)["attempt"] == 1, "nothing is trained twice"
    assert len(read_export(tmp_path / "tables")) == 12


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.py"], "cannot read the campaign file nowhere.py: No such file or directory"),
        (
            ["bad.py"],
            "the campaign file bad.py does not load: NameError: name 'Stage' is not defined (bad.py",
        ),
        (["good.py", "--stage", "frist"], "no stage 'frist' (did you mean 'first'?); known: first"),
        (["good.py", "--json"], "--json goes with --status"),
        (["good.py", "--executor", "slurm"], "executor must be serial, pool or ray, got 'slurm'"),
        (["good.py", "--status", "--results", "nowhere"], "there is no folder nowhere"),
    ],
)
def test_mistakes_are_one_line(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text("STAGES = [Stage('a', 'quick')]\n")
    Path("good.py").write_text("from semfocus.campaign import Stage\nSTAGES = [Stage('first', 'quick')]\n")
    result = invoke(*words)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1
    assert not Path("runs").exists()


@pytest.mark.slow
def test_the_campaign_of_the_results_counts_what_was_exported() -> None:
    """Its specs are those of the exported runs: another digest would train them all again."""
    words = (
        ROOT / "results" / "campaign.py",
        "--store",
        ROOT / "no such store",
        "--results",
        ROOT / "results",
    )
    found = {each["name"]: each for each in read_json(invoke(*words, "--status", "--json").output)}
    assert found["matched"]["runs"] == 240, "and the 80 of the baselines"
    assert found["all stages"]["exported"] >= 391
    assert found["even_pairs"]["exported"] >= 21
    assert found["listops"]["runs"] == 2
    assert found["all stages"]["failed"] == 0
    assert not (ROOT / "no such store").exists()
