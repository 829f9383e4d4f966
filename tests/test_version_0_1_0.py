"""What version 0.1.0 left is read, reported, exported and continued; tests/fixtures/version_0_1_0/make.py made it."""

import json
import shutil
from pathlib import Path

import pytest

from semfocus import Study
from semfocus.report import write_markdown, write_report
from semfocus.report.export import export, read_export
from semfocus.report.pages.trial_page import write_trial_page
from semfocus.runs import Store, open_store
from semfocus.runs.plan import read_plans
from semfocus.runs.record import result_digest
from semfocus.trial import TrialSettings, run_trial

PLACE = Path(__file__).parent / "fixtures" / "version_0_1_0"
#: run -> digest as 0.1.0 computed it, for the killed run from another store where nobody killed it
DIGESTS = json.loads((PLACE / "digests.json").read_text(encoding="utf-8"))
DONE, ((KILLED, WHOLE),) = DIGESTS["done"], DIGESTS["killed"].items()
MEASURED = {"inside", "lengths", "twins"}


@pytest.fixture
def left(tmp_path: Path) -> Path:
    """A folder with a copy of what 0.1.0 left: store/ and trial/."""
    shutil.unpack_archive(PLACE / "made.zip", tmp_path)
    return tmp_path


@pytest.fixture
def old(left: Path) -> Store:
    return open_store(left / "store")


def num_landscapes(store: Store, run: str) -> int:
    return len(list((store.path / run).glob("landscapes/*/values.jsonl")))


def test_finished_runs_are_read_with_the_digests_that_0_1_0_computed(old: Store) -> None:
    records = {record.run: record for record in old.records()}
    assert {run: result_digest(records[run]) for run in DONE} == DONE
    assert {run: record.state for run, record in records.items()} == {
        **dict.fromkeys(DONE, "done"),
        KILLED: "unfinished",
    }
    measured = [run for run in DONE if set(records[run].measurements) == MEASURED]
    assert len(measured) == 2, "those of seed 0"
    assert [run for run in DONE if num_landscapes(old, run) == 2] == measured


def test_the_store_is_reported_and_exported(old: Store, left: Path) -> None:
    records, plans = old.records(), read_plans(old)
    page = write_report(records, left / "page.html", plans=plans).read_text(encoding="utf-8")
    text = write_markdown(records, left / "page.md", plans=plans).read_text(encoding="utf-8")
    for written in (page, text):
        assert "even" in written
        assert written.count("4 runs on 1 task, 1 unfinished") == 1
    export(records, left / "tables", "parquet", plans)
    assert {path.stem for path in (left / "tables").glob("*.parquet")} == {
        *("runs", "curves", "lengths", "probes", "twins", "landscapes")
    }
    losses = {record.run: record.curve["train_loss"] for record in read_export(left / "tables")}
    assert losses == {record.run: record.curve["train_loss"] for record in records}


def test_the_study_file_continues_its_store(old: Store) -> None:
    """The killed run ends, with equal bits where the numerics are the same; what was not measured is."""
    before = {path: path.read_bytes() for run in DONE for path in [old.path / run / "record.json"]}
    with pytest.warns(DeprecationWarning, match="deprecated") as warned:
        result = Study(PLACE / "study.py", old).run(executor="serial", quiet=True)
    for name in ("PROBES", "TWINS", "EVALUATE_LENGTHS", "LANDSCAPES", "Probing", "LandscapeOptions"):
        assert any(name in str(each.message) for each in warned), name
    assert result.problems == {}
    assert {record.run: record.state for record in result.records} == dict.fromkeys([*DONE, KILLED], "done")
    assert all(set(record.measurements) == MEASURED for record in result.records)
    assert [num_landscapes(old, record.run) for record in result.records] == [2, 2, 2, 2]
    assert {path: path.read_bytes() for path in before} == before, "what is done is not done again"
    (resumed,) = [record for record in result.records if record.run == KILLED]
    assert resumed["attempts"] == 2
    changed = [each for each in resumed["problems"] if "other numerics" in each]
    assert resumed["problems"] == changed
    assert changed or result_digest(resumed) == WHOLE


def test_the_trial_continues(left: Path) -> None:
    runs = left / "trial" / "runs"
    before = {path: path.read_bytes() for path in runs.glob("*/record.json")}
    settings = TrialSettings(steps=240, looks=8, batch_size=4, held_out=8)
    result = run_trial(
        PLACE / "subject.py",
        PLACE / "data.jsonl",
        ["top_k(2)"],
        directory=left / "trial",
        seeds=1,
        settings=settings,
        executor="serial",
    )
    assert [len(records) for records in result.records.values()] == [1, 1, 1]
    assert len(before) == 2
    assert {path: path.read_bytes() for path in before} == before
    assert len(list(runs.iterdir())) == 3, "no run has another name than in 0.1.0"
    assert "top_k(2)" in write_trial_page(result, left / "trial.html").read_text(encoding="utf-8")
