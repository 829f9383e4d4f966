"""Measuring along training: the rows are there from epoch 0 on, and the result is the one without them."""

import time
from pathlib import Path

import pytest

from semfocus.measurements import training_probe as along_training
from semfocus.measurements.interior import ALONG_TRAINING
from semfocus.measurements.run_probe import FEW
from semfocus.measurements.training_probe import ProbeObserver
from semfocus.probes import QUANTITIES
from semfocus.runs import RunSpec, Store, open_store, result_digest, study_digest
from semfocus.runs.checkpoints import load_newest
from semfocus.runs.directory import probe_rows_of
from semfocus.runs.record import read_record
from semfocus.studies import run_study
from semfocus.training import EpochResult, Observer, run
from tests.execution.minis import mini_study


def epochs_of(rows: list[dict]) -> list[int]:
    return sorted({row["epoch"] for row in rows})


def test_the_quantities_are_known_ones() -> None:
    assert set(ALONG_TRAINING) <= set(QUANTITIES)


@pytest.mark.parametrize("changes", [{}, {"pattern": "random(3)"}, {"training": {"length": [3, 6]}}])
def test_the_result_is_that_of_a_run_without(tmp_path: Path, tiny_spec, changes) -> None:
    spec = tiny_spec(**changes)
    without = run(spec, open_store(tmp_path / "without"))
    store = open_store(tmp_path / "with")
    record = run(spec, store, observers=[ProbeObserver(3)])
    assert result_digest(record) == result_digest(without)
    assert record["weights"] == without["weights"]
    assert epochs_of(record["probes"]) == [0, 3, 4]
    assert without["probes"] == []
    assert {row["data"] for row in record["probes"]} == {"train", "held_out"}
    assert {(row["data"], row["samples"]) for row in record["probes"]} == {("train", 60), ("held_out", 30)}
    assert {row["quantity"] for row in record["probes"]} <= set(ALONG_TRAINING)
    assert store.directory(spec).record() == record


def test_a_careless_probe_does_not_reach_the_training(tmp_path: Path, tiny_spec, monkeypatch) -> None:
    """The guard of the test above, tried with what it is there for."""

    def careless(model, *arguments, **options) -> list:
        for parameter in model.parameters():
            parameter.data.mul_(1.5)
        return []

    spec = tiny_spec()
    without = run(spec, open_store(tmp_path / "without"))
    monkeypatch.setattr("semfocus.measurements.run_probe.probe_rows", careless)
    record = run(spec, open_store(tmp_path / "with"), observers=[ProbeObserver(1)])
    assert result_digest(record) == result_digest(without)


def test_measuring_counts_into_no_time(store: Store, tiny_spec, monkeypatch) -> None:
    def slow(*arguments, **options) -> list:
        time.sleep(0.3)
        return []

    monkeypatch.setattr("semfocus.measurements.run_probe.probe_rows", slow)
    started = time.perf_counter()
    record = run(tiny_spec(), store, observers=[ProbeObserver(1)])
    elapsed = time.perf_counter() - started
    measured = 2 * 0.3 * 5
    counted = sum(record["curve"]["train_seconds"]) + sum(record["curve"]["evaluation_seconds"])
    assert elapsed > measured
    assert counted < elapsed - measured + 0.2


def test_stopping_at_a_target_ends_with_a_row(store: Store, tiny_spec) -> None:
    spec = tiny_spec(training={"stop_at": 0.01})
    assert epochs_of(run(spec, store, observers=[ProbeObserver(3)])["probes"]) == [0]
    longer = tiny_spec(training={"epochs": 5})
    assert epochs_of(run(longer, store, observers=[ProbeObserver(3)])["probes"]) == [0, 3, 5]


class Interrupt(Observer):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def epoch_ended(self, result: EpochResult) -> None:
        if result.epoch == self.epoch:
            raise KeyboardInterrupt


def test_rows_of_epochs_that_are_trained_again_are_replaced(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    directory = store.directory(spec)
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[ProbeObserver(1), Interrupt(3)], checkpoint_seconds=1000)
    assert read_record(directory)["state"] == "interrupted"
    assert epochs_of(read_record(directory)["probes"]) == [0, 1, 2, 3]
    for path in directory.checkpoints.glob("last-000003/model.safetensors"):
        path.write_bytes(b"")  # so that epochs 1 to 3 are trained again
    record = run(spec, store, observers=[ProbeObserver(2)])
    assert [each["resumed_after"] for each in directory.events() if each["event"] == "attempt"] == [-1, 0]
    assert epochs_of(record["probes"]) == [0, 2, 4]
    names = [(row["epoch"], row["quantity"], row["layer"], row["data"]) for row in record["probes"]]
    assert len(names) == len(set(names))


def test_an_epoch_that_was_saved_but_not_measured_is_measured_on_resuming(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    with pytest.raises(KeyboardInterrupt):  # stopped before the probe hears of epoch 2
        run(spec, store, observers=[Interrupt(2), ProbeObserver(2)], checkpoint_seconds=0)
    directory = store.directory(spec)
    assert load_newest(directory.checkpoints, "last")[0].epoch == 2  # type: ignore[union-attr]
    assert epochs_of(probe_rows_of(directory.events())) == [0]
    resumed = run(spec, store, observers=[ProbeObserver(2)])
    assert epochs_of(resumed["probes"]) == [0, 2, 4]
    whole = run(spec, Store(store.path.parent / "whole"), observers=[ProbeObserver(2)])
    assert resumed["probes"] == whole["probes"]


def test_what_cannot_be_measured_does_not_fail_the_run(store: Store, tiny_spec, monkeypatch) -> None:
    def refuse(*arguments, **options) -> list:
        raise ValueError("scores with NaN")

    monkeypatch.setattr("semfocus.measurements.run_probe.probe_rows", refuse)
    record = run(tiny_spec(), store, observers=[ProbeObserver(4)])
    assert (record["state"], record["probes"]) == ("done", [])
    (event, *_) = [each for each in store.directory(tiny_spec()).events() if each["event"] == "probe"]
    assert event["problem"] == "scores with NaN"


def test_numbers_that_json_does_not_have_are_null(store: Store, tiny_spec, monkeypatch) -> None:
    row = {"quantity": "dispersion", "pattern": "full", "counterfactual": False, "mean": float("nan")}
    row["quantiles"] = {"50": float("inf"), "75": 1.0}
    monkeypatch.setattr("semfocus.measurements.run_probe.probe_rows", lambda *a, **b: [dict(row)])
    record = run(tiny_spec(), store, observers=[ProbeObserver(4)])
    assert record["state"] == "done"
    assert record["probes"][0]["mean"] is None
    assert record["probes"][0]["quantiles"] == {"50": None, "75": 1.0}


@pytest.mark.parametrize(
    "executor",
    [
        "serial",
        pytest.param("pool", marks=pytest.mark.slow),
        pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.slow]),
    ],
)
def test_studies_measure_in_every_executor(tmp_path: Path, executor) -> None:
    if executor == "ray":
        pytest.importorskip("ray", reason="Ray is not installed")
    specs = mini_study(2)
    without = run_study(specs, tmp_path / "without", executor="serial")
    records = run_study(specs, tmp_path / "with", executor=executor, workers=1, probe_every=2)
    assert study_digest(records) == study_digest(without)
    assert [epochs_of(record["probes"]) for record in records] == [[0, 2], [0, 2]]
    stored = open_store(tmp_path / "with").records()
    assert sorted(stored, key=lambda each: each["run"]) == sorted(records, key=lambda each: each["run"])


def test_bad_numbers() -> None:
    with pytest.raises(ValueError, match="probe_every must be at least 1, got 0"):
        ProbeObserver(0)
    with pytest.raises(ValueError, match="probe_every must be at least 1, got 0"):
        run_study([RunSpec.model_validate({"task": "parity"})], "nowhere", probe_every=0)
    assert along_training.is_probed(0, 5, 7)
    assert [each for each in range(8) if along_training.is_probed(each, 5, 7)] == [0, 5, 7]
    assert FEW == 64
