"""Distances of twins, kept once computed."""

import json

import pytest

from semfocus.execution.executor import Conditions
from semfocus.execution.measurement_parts import measure_runs
from semfocus.measurements import Twins
from semfocus.measurements.twins import stability_inputs
from semfocus.runs import RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.studies import run_study
from semfocus.training import run
from semfocus.training import twin_training as twins
from tests.execution.minis import mini_study


def twin_distances(spec: RunSpec, store: Store, replaced: int = 0) -> dict:
    """The distances to this twin, measured if they are missing."""
    directory = store.directory(spec)
    directory.create(spec.model_dump(mode="json"))
    Twins(replaced).complete(directory)
    return next(each for each in directory.kept("twins") if each["replaced"] == replaced)


def test_computed_once_and_kept_for_each_sample(tiny_spec, store, monkeypatch) -> None:
    spec = tiny_spec()
    record = run(spec, store)
    found = twin_distances(spec, store, replaced=4)
    other = twin_distances(spec, store, replaced=9)
    assert found["rows"][-1]["distance"] > 0
    assert found["rows"] != other["rows"]
    monkeypatch.setattr(twins, "train_twins", None)
    assert twin_distances(spec, store, replaced=4) == found
    assert twin_distances(spec, store, replaced=9) == other
    assert [each["replaced"] for each in store.directory(spec).kept("twins")] == [4, 9]
    assert store.records() == [record], "neither another run nor another record"


def test_what_is_read_is_what_was_computed(tiny_spec, store) -> None:
    spec = tiny_spec()
    found = twin_distances(spec, store)
    assert json.loads(json.dumps(found)) == found
    assert store.directory(spec).kept("twins") == [found]


@pytest.mark.parametrize(
    "text", ["{}", "[]", '{"twins": [{"replaced": 0}]}', '{"twins": [{"rows": []}]}', "{"]
)
def test_a_damaged_file_is_said_to_be(tiny_spec, store, text: str) -> None:
    spec = tiny_spec()
    run(spec, store)
    (store.directory(spec).path / "twins.json").write_text(text)
    with pytest.raises(DamagedRun, match=r"twins\.json is damaged"):
        twin_distances(spec, store)


def test_the_inputs_of_the_stability_bound(tiny_spec, store) -> None:
    spec = tiny_spec(training={"learning_rate": 0.2, "learning_rate_decay": 0.5, "epochs": 3})
    found = twin_distances(spec, store)
    inputs = stability_inputs(found)
    assert inputs["steps"] == [0.2] * 6 + [0.1] * 6 + [0.05] * 6
    assert (inputs["n"], inputs["batch"]) == (60, 10)
    last = found["rows"][-1]
    assert inputs["L_pair"] >= last["largest_loss"] / last["distance"]
    assert min(inputs["L_grad"], inputs["beta"], inputs["M"]) > 0


@pytest.mark.parametrize("executor", ["serial", pytest.param("pool", marks=pytest.mark.slow)])
def test_the_twins_of_a_study_are_trained_once_and_a_damaged_one_stops_no_other(store, executor: str) -> None:
    specs = mini_study()[:3]
    run_study(specs, store, executor="serial")
    (store.directory(specs[0]).path / "twins.json").write_text("{")
    errors = measure_runs([Twins()], specs, store, Conditions(executor, workers=2))
    assert list(errors) == [(specs[0].digest, "twins")]
    assert "damaged" in errors[specs[0].digest, "twins"]
    there = [store.directory(spec).kept("twins") for spec in specs[1:]]
    assert all(len(own) == 1 and own[0]["rows"][-1]["distance"] > 0 for own in there)
    assert not any(Twins().missing(store.directory(spec), "cpu", 1) for spec in specs[1:])
