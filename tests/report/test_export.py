"""The exported tables hold every number and can be read back."""

from collections.abc import Callable
from pathlib import Path

import polars
import pytest

from semfocus.measurements.run_probe import probe_run
from semfocus.report.export import curves_table, export, frames_of, runs_table
from semfocus.runs import RunSpec, Store
from semfocus.runs.record import Record, read_record
from semfocus.training import run
from tests.report.made_up import record_of, spec_of, study

NASTY = '=HYPERLINK("http://x"), "quoted",\nline two\ttab; <script>'


@pytest.fixture(scope="module")
def records() -> list[dict]:
    found = study(tasks=2, seeds=3, epochs=20)
    found[1] |= {"state": "failed", "reason": NASTY}
    found.append({"run": "c0ffee", "spec": {}, "state": "corrupt", "reason": "damaged"})
    found.append(
        {
            "run": "5eed",
            "spec": spec_of("parity", "full", 7),
            "state": "unfinished",
            "reason": None,
            "curve": {},
            "summary": {},
        }
    )
    return found


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_every_number_comes_back(records: list[dict], kind: str, tmp_path: Path) -> None:
    runs_path, curves_path, *_ = export(records, tmp_path / "tables", kind)
    read = polars.read_csv if kind == "csv" else polars.read_parquet
    runs = read(runs_path, infer_schema_length=None) if kind == "csv" else read(runs_path)
    curves = read(curves_path, infer_schema_length=None) if kind == "csv" else read(curves_path)
    assert runs["run"].to_list() == [record["run"] for record in records]
    for row, record in zip(runs.iter_rows(named=True), records, strict=True):
        assert row["state"] == record["state"]
        if record.get("summary"):
            assert row["summary.last_held_out_accuracy"] == record["summary"]["last_held_out_accuracy"]
            assert row["spec.model.num_blocks"] == record["spec"]["model"]["num_blocks"]
            assert row["spec.training.learning_rate"] == record["spec"]["training"]["learning_rate"]
            assert row["environment.numerics.torch"] == "2.13.0"
        if record.get("curve"):
            own = curves.filter(polars.col("run") == record["run"])
            assert own["train_accuracy"].to_list() == record["curve"]["train_accuracy"]
            assert own["epoch"].to_list() == record["curve"]["epoch"]
    assert curves.height == sum(len(record.get("curve", {}).get("epoch", [])) for record in records)


def test_a_spreadsheet_computes_nothing(records: list[dict], tmp_path: Path) -> None:
    csv, *_ = export(records, tmp_path, "csv")
    reason = polars.read_csv(csv, infer_schema_length=None)["reason"][1]
    assert reason == "'" + NASTY
    parquet, *_ = export(records, tmp_path, "parquet")
    assert polars.read_parquet(parquet)["reason"][1] == NASTY


def test_numbers_that_are_negative_stay_numbers(tmp_path: Path) -> None:
    record = record_of(spec_of("parity", "full", 1), middle=5, last=3)
    record["curve"]["learning_rate"] = [-0.5] * 4
    _, csv, *_ = export([record], tmp_path, "csv")
    assert polars.read_csv(csv)["learning_rate"].to_list() == [-0.5] * 4


def test_columns_have_one_type_each(records: list[dict]) -> None:
    runs, curves = runs_table(records), curves_table(records)
    assert runs.schema["spec.seed"] == polars.Int64
    assert runs.schema["spec.training.learning_rate"] == polars.Float64
    assert runs.schema["spec.model.padding_takes_part"] == polars.Boolean
    assert curves.schema["train_accuracy"] == polars.Float64
    assert runs.columns[:5] == ["run", "state", "reason", "arm", "group"]


def test_lengths_that_are_sometimes_a_range_are_text() -> None:
    records = [
        record_of(spec_of("listops", "full", 1, training__length=length), middle=5, last=1)
        for length in (16, [501, 599])
    ]
    assert runs_table(records)["spec.training.length"].to_list() == ["16", "[501, 599]"]


def test_an_empty_store_has_empty_tables(tmp_path: Path) -> None:
    for path in export([], tmp_path, "csv"):
        assert polars.read_csv(path).height == 0


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one of csv, parquet, got 'xlsx'"):
        export([], tmp_path, "xlsx")


def test_half_a_surrogate_pair_can_be_written(tmp_path: Path) -> None:
    record = record_of(spec_of("a\ud800b", "full", 1), middle=5, last=1)
    path, *_ = export([record], tmp_path, "csv")
    assert polars.read_csv(path)["spec.task"][0] == "a\\ud800b"


def test_a_table_is_whole_on_disk_before_it_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the one durable helper: what cannot be forced to disk leaves the old table as it was."""
    record = record_of(spec_of("parity", "full", 1), middle=5, last=3)
    old = {path: path.read_bytes() for path in export([record], tmp_path, "csv")}

    def no_room(descriptor: int) -> None:
        raise OSError("no room")

    monkeypatch.setattr("os.fsync", no_room)
    with pytest.raises(OSError, match="no room"):
        export([], tmp_path, "csv")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == old


def test_what_was_measured_inside_a_run_is_no_column_of_its_row(tmp_path: Path) -> None:
    """Lists of rows cannot stand in a CSV file: they have a table of their own, or none."""
    measured = {"inside": [], "landscape": [{"epoch": 3, "steepness": 1.0}]}
    record = Record(study(tasks=1, seeds=1, epochs=5)[0], measurements=measured)
    assert not {"inside", "landscape", "probes"} & set(runs_table([record]).columns)
    export([record], tmp_path, "csv")
    assert polars.read_csv(tmp_path / "landscapes.csv")["steepness"].to_list() == [1.0]


def test_what_was_clipped_is_in_the_curves() -> None:
    """A column that one run has is null for an older one, and the older one reads back without it."""
    old = record_of(spec_of("parity", "full", 1), middle=5, last=2)
    new = record_of(spec_of("parity", "full", 2), middle=5, last=2)
    new["curve"] |= {"gradient_norm": [None, 2.5, 0.25], "clipped_share": [None, 1.0, 0.5]}
    frame = curves_table([old, new])
    assert frame["clipped_share"].to_list() == [None] * 4 + [1.0, 0.5]
    assert frame["gradient_norm"].to_list() == [None] * 4 + [2.5, 0.25]


def test_quantities_are_in_the_probes_layer_by_layer(store: Store, tiny_spec: Callable[..., RunSpec]) -> None:
    """Of a run that was really measured: pooled over layers, and each layer and head alone."""
    spec = tiny_spec(model={"num_blocks": 2})
    run(spec, store, device="cpu")
    probe_run(spec, store, epoch="last", data="held_out", samples=8)
    frame = frames_of([read_record(store.directory(spec))])["probes"]
    own = frame.filter(polars.col("quantity") == "dispersion")
    assert list(zip(own["layer"], own["head"], strict=True)) == [(None, None), (0, 0), (1, 0)]
