"""Exports that grow: runs are added, replaced and never lost, in files of a few kilobytes per run."""

import multiprocessing
from pathlib import Path

import polars
import pytest

from semfocus.measurements.interior import rows_inside, rows_noted_along
from semfocus.report.export import archive, read_export, read_exported_plans
from semfocus.runs import RunSpec
from semfocus.runs.plan import Plan
from semfocus.runs.record import Record
from tests.report.made_up import record_of, spec_of, study
from tests.report.test_read_export import measured_record


def runs_in(folder: Path) -> dict[str, Record]:
    return {record.run: record for record in read_export(folder)}


def test_runs_of_a_store_that_is_gone_stay(tmp_path: Path) -> None:
    first, second = study(tasks=1, seeds=2, epochs=6), study(tasks=2, seeds=2, epochs=6)[14:]
    assert archive(first, tmp_path) == 14
    assert archive(second, tmp_path) == 28
    assert archive([], tmp_path) == 28
    found = runs_in(tmp_path)
    for record in (*first, *second):
        back = found[record["run"]]
        assert back.spec == record["spec"]
        assert back.summary == record["summary"]
        for name in ("epoch", "train_accuracy", "held_out_accuracy"):
            assert back.curve[name] == record["curve"][name]
        assert back.curve["train_loss"] == pytest.approx(record["curve"]["train_loss"], rel=1e-3)
        assert "host" not in back.environment


def test_of_a_run_that_is_exported_again_the_later_record_counts(tmp_path: Path) -> None:
    record = measured_record()
    longer = Record(record_of(spec_of("even_pairs", "full", 1), middle=5, last=8)) | {"run": record.run}
    archive([record], tmp_path)
    archive([longer], tmp_path)
    (back,) = read_export(tmp_path)
    assert back.curve["epoch"] == list(range(9))
    assert len(rows_inside(back)) == 3, "the later store had not measured it: what was measured stays"
    assert len(rows_noted_along(back)) == 2
    assert polars.read_parquet(tmp_path / "curves.parquet").height == 9


def test_the_same_runs_give_the_same_files(tmp_path: Path) -> None:
    records = [*study(tasks=1, seeds=3, epochs=6), measured_record()]
    archive(records, tmp_path / "a")
    for record in reversed(records):
        archive([record], tmp_path / "b")
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {f"{each}.parquet" for each in ("runs", "curves", "lengths", "probes", "twins")}
    for name in names:
        one, other = (polars.read_parquet(tmp_path / folder / name) for folder in "ab")
        assert one.equals(other)
        assert one.schema == other.schema
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}
    archive(records, tmp_path / "a")
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()} == before


def test_specs_stay_exact_when_columns_change_their_type(tmp_path: Path) -> None:
    """Lengths become text beside a range, a field that nobody used gets values, a new field appears."""
    specs = [
        RunSpec(task="even_pairs", training={"learning_rate": 0.1 + 0.2}),
        RunSpec(task="listops"),
        RunSpec(task="even_pairs", training={"stop_at": 0.95, "clip_norm": None}),
        RunSpec(task="even_pairs", model={"score_clip": 1.0}),
    ]
    for spec in specs:
        values = spec.model_dump(mode="json")
        archive([{"run": spec.digest, "state": "done", "reason": None, "spec": values}], tmp_path)
    found = runs_in(tmp_path)
    assert len(found) == len(specs)
    for spec in specs:
        assert found[spec.digest].spec == spec.model_dump(mode="json")
        assert RunSpec(**found[spec.digest].spec).digest == spec.digest


def test_plans_are_kept_beside_the_tables(tmp_path: Path) -> None:
    plan = Plan("first", "Which?", "semfocus study first", ["a", "b"], ["training.learning_rate"])
    archive(study(tasks=1, seeds=1, epochs=3), tmp_path / "x", [plan])
    assert read_exported_plans(tmp_path) == [plan]


def _add(folder: Path, seed: int) -> None:
    archive([record_of(spec_of("even_pairs", "full", seed), middle=5, last=4)], folder)


@pytest.mark.slow
def test_processes_that_add_to_one_folder_lose_nothing(tmp_path: Path) -> None:
    """Without the lock each would write what it read plus its own."""
    context = multiprocessing.get_context("spawn")
    adding = [context.Process(target=_add, args=(tmp_path, seed)) for seed in range(2)]
    for each in adding:
        each.start()
    for each in adding:
        each.join()
    assert len(runs_in(tmp_path)) == 2


def test_a_run_takes_a_few_kilobytes(tmp_path: Path) -> None:
    """Four hundred epochs, as in `small`; curves in full take several times as much."""
    records = study(tasks=2, seeds=2, epochs=400)
    archive(records, tmp_path)
    size = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert size / len(records) < 8000


def test_what_is_damaged_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "runs.parquet").write_bytes(b"PAR1 half a file")
    with pytest.raises(ValueError, match=r"runs.parquet is not a table that can be read"):
        archive(study(tasks=1, seeds=1, epochs=3), tmp_path)
    assert (tmp_path / "runs.parquet").read_bytes() == b"PAR1 half a file"
