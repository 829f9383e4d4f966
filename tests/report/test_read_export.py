"""What was exported can be read back: the committed results too, which are older than the reader."""

from pathlib import Path
from typing import Any

import polars
import pytest

from semfocus.analysis.findings import findings_of
from semfocus.analysis.summaries import analyse
from semfocus.analysis.why.measured_runs import measured_tasks
from semfocus.measurements.interior import rows_inside, rows_noted_along
from semfocus.measurements.measurement import exported_kinds
from semfocus.measurements.twins import twin_table
from semfocus.report.export import archive, export, read_export
from semfocus.report.export.folder import folders_of_tables, read_table
from semfocus.report.export.frames import NAMES
from semfocus.runs import RunSpec
from semfocus.runs.outcome import TARGET_ACCURACY
from semfocus.runs.record import Record
from tests.report.made_up import record_of, spec_of, study

RESULTS = Path(__file__).parents[2] / "results"
KINDS = pytest.mark.parametrize("kind", ["csv", "parquet"])


def probe_row(epoch: int, layer: int | None, value: float, **more: Any) -> dict[str, Any]:
    place = {"epoch": epoch, "layer": layer, "head": None, "data": "held_out", "samples": 64}
    what = {"quantity": "dispersion", "pattern": "full", "counterfactual": False, "num": 8}
    return {
        **place,
        **what,
        "mean": value,
        "null": None,
        "quantiles": {"50": value, "75": 2 * value},
        **more,
    }


def measured_record() -> Record:
    twin = {"epoch": 1, "distance": 0.5, "groups": {"mlp": 0.25, "readout": 0.125}}
    pair = {"replaced": 3, "num_train": 20, "learning_rates": [0.1, 0.05], "diverged": None, "rows": [twin]}
    record = Record(record_of(spec_of("even_pairs", "full", 1), middle=5, last=4)) | {
        "probes": [probe_row(epoch, None, 0.25) for epoch in (0, 2)]
    }
    measured = {
        "inside": [probe_row(4, layer, 1.5, quantities="all:1f3a9c2e") for layer in (None, 0, 1)],
        "twins": [pair],
        "lengths": [{"length": 20, "num": 100, "epoch": 4, "loss": 0.5, "accuracy": 0.75}],
    }
    return Record(record, measurements=measured)


@KINDS
def test_records_come_back_as_they_were(kind: str, tmp_path: Path) -> None:
    records = study(tasks=2, seeds=2, epochs=8)
    records[0] |= {"steps": {"step": [4, 8], "train_accuracy": [0.5, 0.75]}}
    records[1] |= {"state": "failed", "reason": "=1+1, or\n'-nothing'"}
    records.append({"run": "c0ffee", "spec": {}, "state": "corrupt", "reason": "damaged"})
    export(records, tmp_path, kind)
    found = {record.run: record for record in read_export(tmp_path)}
    assert len(found) == len(records)
    for record in records[:-1]:
        back = found[record["run"]]
        assert {**back} == record
        assert (back.directory, list(back.measurements)) == (None, [])
    assert (found["c0ffee"].state, found["c0ffee"].spec, found["c0ffee"].curve) == ("corrupt", {}, {})


def types_of(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: types_of(each) for key, each in value.items()}
    return list if isinstance(value, list) else type(value)


@KINDS
def test_fields_of_a_spec_keep_their_types_and_unused_ones_stay_away(kind: str, tmp_path: Path) -> None:
    """Beside a run that uses a field, one that does not has a null in its column."""
    small = {"model": {"d_model": 8}, "training": {"length": 4, "epochs": 3}}
    before = {"task": "parity", "training": {"length": 4, "epochs": 2, "learning_rate": 1.0}}
    specs = [
        RunSpec(task="even_pairs", **small),
        RunSpec(task="even_pairs", model={"score_clip": 2.0, "inverse_temperature": 4}, training={}),
        RunSpec(task="listops", training={"stop_at": 0.95, "clip_norm": None}),
        RunSpec(task="even_pairs", **small, pretraining=before),
        RunSpec(task="even_pairs", training={"replace_sample": 7, "length": 4, "clip_norm": 1}),
    ]
    plain = [
        {"run": spec.digest, "state": "done", "reason": None, "spec": spec.model_dump(mode="json")}
        for spec in specs
    ]
    export(plain, tmp_path, kind)
    for spec, record in zip(specs, read_export(tmp_path), strict=True):
        assert record.spec == spec.model_dump(mode="json")
        assert types_of(record.spec) == types_of(spec.model_dump(mode="json"))
        assert RunSpec(**record.spec).digest == record.run


@KINDS
def test_every_table_of_ours_leads_back_to_what_it_was_made_of(kind: str, tmp_path: Path) -> None:
    """And an empty one has the columns that it begins with."""
    assert {*exported_kinds()} == {"probes", "twins", "lengths", "landscapes"}
    steepness = {"epoch": 4, "grid": "5 x 5 points", "steepness": 0.5, "grids": 2}
    measured = {name: [*measured_record().measurements[name]] for name in ("inside", "twins", "lengths")}
    record = Record(measured_record(), measurements=measured | {"landscape": [steepness]})
    export([record], tmp_path / "full", kind)
    export([], tmp_path / "empty", kind)
    (back,) = read_export(tmp_path / "full")
    for name, each in exported_kinds().items():
        rows = [{key: value for key, value in row.items() if value is not None} for row in each.table(record)]
        assert [{key: row[key] for key in row if row[key] is not None} for row in each.table(back)] == rows
        assert rows, name
        assert read_table(tmp_path / "empty" / f"{name}.{kind}").columns == [*NAMES, *each.columns]


@KINDS
def test_what_was_measured_comes_back_by_layer(kind: str, tmp_path: Path) -> None:
    record = measured_record()
    other = record_of(spec_of("even_pairs", "top_k(5)", 1), middle=3, last=4)
    export([record, other], tmp_path, kind)
    back, plain = read_export(tmp_path)
    assert [row["layer"] for row in rows_inside(back)] == [None, 0, 1]
    assert rows_inside(back)[1] | {"quantities": "all:1f3a9c2e"} == record.measured("inside")[1]
    assert rows_noted_along(back) == record["probes"]
    assert back.measured("lengths") == record.measured("lengths")
    (pair,) = back.measured("twins")
    assert pair == {key: value for key, value in record.measured("twins")[0].items() if key != "diverged"}, (
        "what is None is not there"
    )
    assert twin_table({"full": [back]}) is not None
    assert list(plain.measurements) == []


def test_an_accuracy_in_single_precision_still_reaches_its_target(tmp_path: Path) -> None:
    record = record_of(spec_of("parity", "full", 1), middle=5, last=3)
    record["curve"]["train_accuracy"] = [0.5, TARGET_ACCURACY, 0.1, 0.3]
    export([record], tmp_path, "parquet")
    curves = tmp_path / "curves.parquet"
    single = polars.read_parquet(curves).cast({polars.Float64: polars.Float32})
    assert single["train_accuracy"].cast(polars.Float64)[1] < TARGET_ACCURACY, "or nothing is tested here"
    single.write_parquet(curves)
    (back,) = read_export(tmp_path)
    assert back.curve["train_accuracy"] == [0.5, TARGET_ACCURACY, 0.1, 0.3]


def test_findings_are_those_of_the_records(tmp_path: Path) -> None:
    records = study(tasks=2, seeds=5, epochs=30)
    export(records, tmp_path, "parquet")
    assert findings_of(analyse(read_export(tmp_path))) == findings_of(analyse(records))


def test_a_smaller_export_is_enough_to_compare_epochs(tmp_path: Path) -> None:
    """As the first exports of the campaign: no held-out loss, no seconds, no curves of some."""
    records = study(tasks=1, seeds=3, epochs=30)
    export(records, tmp_path, "parquet")
    curves = tmp_path / "curves.parquet"
    columns = ("run", "epoch", "train_accuracy", "held_out_accuracy", "train_loss")
    polars.read_parquet(curves).select(columns).write_parquet(curves)
    found = findings_of(analyse(read_export(tmp_path)))
    whole = findings_of(analyse(records))
    assert [(each.contrast, each.ratio, each.low, each.high) for each in found] == [
        (each.contrast, each.ratio, each.low, each.high) for each in whole
    ]
    back = read_export(tmp_path)[0]
    assert sum(back.curve["train_seconds"]) == pytest.approx(back.summary["seconds"])


def test_of_several_folders_the_most_complete_record_of_a_run_counts(tmp_path: Path) -> None:
    records = [Record(each) for each in study(tasks=1, seeds=2, epochs=10)]
    shorter = records[0] | {
        "curve": {key: values[:4] for key, values in records[0].curve.items()},
        "state": "unfinished",
    }
    probed = Record(records[0], measurements={"inside": [probe_row(10, None, 1.5, quantities="all:1")]})
    without_curve = probed | {"curve": {}}
    export([shorter, records[1]], tmp_path / "a", "csv")
    export([records[0], *records[2:]], tmp_path / "b" / "inner", "parquet")
    export([without_curve], tmp_path / "c", "parquet")
    (tmp_path / "README.md").write_text("beside the tables")
    orders = [
        [tmp_path],
        [tmp_path / "c", tmp_path / "b", tmp_path / "a"],
        sorted(tmp_path.iterdir()),  # as a shell would write tmp_path/*
    ]
    for folders in orders:
        found = {record.run: record for record in read_export(folders)}
        assert len(found) == len(records)
        assert (found[records[0].run].state, found[records[0].run].curve) == ("done", records[0].curve)
        assert len(found[records[0].run].measured("inside")) == 1


@pytest.mark.parametrize("folder", ["quick", "small", "paper", "why", "language", "campaign"])
def test_the_committed_results_can_be_read(folder: str) -> None:
    """The names of runs are digests of their specs: a spec that lost a type or a field has another."""
    records = read_export(RESULTS / folder)
    assert records
    for record in records:
        if not record.spec["task"].startswith("text:") and "pretraining" not in record.spec:
            assert RunSpec(**record.spec).digest == record.run
        if record.curve and record.summary["target_accuracy"] is not None:
            accuracies = zip(record.curve["epoch"], record.curve["train_accuracy"], strict=True)
            reached = next((epoch for epoch, value in accuracies if value >= TARGET_ACCURACY), None)
            assert reached == record.summary["epochs_to_target"]


@pytest.mark.slow
def test_the_committed_results_join_what_was_measured_with_its_runs() -> None:
    """The probes of `why` are of runs whose curves are in `small`."""
    records = [record for record in read_export(RESULTS) if record.curve]
    tasks = measured_tasks(analyse(records))
    assert {"even_pairs", "missing_duplicate", "parity"} <= {task.task for task in tasks}
    assert any(run.value("dispersion", "end", "75") for task in tasks for run in task.runs)
    assert any(run.along for task in tasks for run in task.runs)
    assert any(record.measured("twins") for record in records)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "no exported runs .runs.parquet or runs.csv. in"),
        ({"runs.parquet": b"PAR1 no"}, "runs.parquet is not a table that can be read"),
        ({"runs.csv": b"a,b\n1,2\n"}, "runs.csv is not an exported table: it has no column 'run'"),
    ],
)
def test_what_is_no_export_is_named(content: dict[str, bytes], message: str, tmp_path: Path) -> None:
    for name, each in content.items():
        (tmp_path / name).write_bytes(each)
    with pytest.raises(ValueError, match=message):
        read_export(tmp_path)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no folder .*reslts"):
        folders_of_tables([tmp_path / "reslts"])


@KINDS
def test_a_measurement_of_ones_own_comes_back_whatever_its_names_are(kind: str, tmp_path: Path) -> None:
    """Its name is that of a table, and its rows have a column of every table."""
    rows = [{"seed": 5, "run": "a", "values": [1.5, 2.0]}, {"seed": 6, "text": "=1+1"}]
    known = [Record.of(each) for each in study(tasks=1, seeds=2, epochs=3)]
    measured = [Record(known[0], measurements={"runs": rows, "curves": rows[:1]}), *known[1:]]
    export(measured, tmp_path, kind)
    read = {record.run: record for record in read_export(tmp_path)}
    assert read.keys() == {record.run for record in known}
    first = read.pop(known[0].run)
    assert (first.measured("runs"), first.measured("curves")) == (rows, rows[:1])
    assert first.curve["epoch"] == known[0].curve["epoch"]
    assert not any(record.measured("runs") for record in read.values())


def test_a_growing_folder_keeps_a_measurement_of_ones_own(tmp_path: Path) -> None:
    first, second, *_ = [Record.of(each) for each in study(tasks=1, seeds=2, epochs=3)]
    for record, value in ((first, 1.0), (second, 2.0)):
        archive([Record(record, measurements={"mine": [{"value": value}]})], tmp_path)
    assert {record.run: record.measured("mine") for record in read_export(tmp_path)} == {
        first.run: [{"value": 1.0}],
        second.run: [{"value": 2.0}],
    }
