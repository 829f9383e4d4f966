"""Looking into all runs of a study: what is missing, on the pool or here, and what is kept."""

import json

import pytest

from semfocus.execution.executor import Conditions
from semfocus.execution.jobs import MeasuringJob, as_line, from_line
from semfocus.execution.measurement_parts import MeasuredPart, measure_runs
from semfocus.execution.progress import Watcher
from semfocus.measurements import Inside, measurement_of
from semfocus.runs import Store
from semfocus.studies import run_study
from tests.execution.minis import mini_study

PROBING = Inside(epochs=("0", "last"), samples=5, patterns=("top_k(2)", "banded(2)"))


@pytest.fixture
def trained(store: Store):
    specs = mini_study()
    run_study(specs, store, executor="serial")
    return specs


class Seen(Watcher):
    """The runs of the parts that were measured."""

    def __init__(self) -> None:
        self.runs: list[str] = []

    def run_ended(self, work: MeasuredPart, result: str) -> None:
        self.runs.append(work.directory.name)


def looks(store, specs, probing=PROBING, executor="serial", workers=None) -> list[str]:
    """The runs that were measured, each once."""
    seen = Seen()
    assert measure_runs([probing], specs, store, Conditions(executor, workers=workers, watcher=seen)) == {}
    return list(dict.fromkeys(seen.runs))


def is_measured(directory, measurement) -> bool:
    return not measurement.missing(directory, "cpu", 1)


def patterns_of(store, spec) -> set[tuple[int, str, bool]]:
    return {
        (row["epoch"], row["pattern"], row["counterfactual"]) for row in store.directory(spec).kept("inside")
    }


def test_every_run_is_looked_into_once_and_other_patterns_go_on_the_baseline_alone(store, trained) -> None:
    assert sorted(looks(store, trained)) == sorted(spec.digest for spec in trained)
    for spec in trained:
        own = {(epoch, spec.pattern, False) for epoch in (0, 2)}
        others = {(epoch, each, True) for epoch in (0, 2) for each in PROBING.patterns}
        assert patterns_of(store, spec) == (own | others if spec.pattern == "full" else own)
    assert looks(store, trained) == [], "known: nothing is measured again"


def test_only_what_is_missing_is_measured(store, trained) -> None:
    looks(store, trained[:1])
    assert sorted(looks(store, trained)) == sorted(spec.digest for spec in trained[1:])
    more = Inside(epochs=("0", "last"), samples=5, patterns=("banded(2)", "block_local(2)"))
    assert looks(store, trained, more) == [spec.digest for spec in trained if spec.pattern == "full"]


@pytest.mark.slow
def test_worker_processes_keep_the_same_rows(store, trained, tmp_path) -> None:
    looks(store, trained[:2], executor="pool", workers=2)
    there = [store.directory(spec).kept("inside") for spec in trained[:2]]
    for spec in trained[:2]:
        (store.directory(spec).path / "probes.json").unlink()
    looks(store, trained[:2])
    assert [store.directory(spec).kept("inside") for spec in trained[:2]] == there


def test_a_run_that_was_trained_without_is_measured_along_its_way(store, trained) -> None:
    along = Inside(epochs=(), every=1)
    assert not is_measured(store.directory(trained[0]), along)
    looks(store, trained[:1], along)
    assert {row["epoch"] for row in store.directory(trained[0]).kept("inside")} == {0, 1, 2}
    assert is_measured(store.directory(trained[0]), along)


def test_an_accuracy_that_was_never_reached_is_passed_over(store, trained) -> None:
    looks(store, trained[:1], Inside(epochs=("reaching:1.5", "0"), samples=5))  # on no machine
    assert {row["epoch"] for row in store.directory(trained[0]).kept("inside")} == {0}


def test_a_run_that_cannot_be_looked_into_does_not_stop_the_others(store, trained) -> None:
    directory = store.directory(trained[0])
    (directory.path / "probes.json").write_text("{")
    missing = Inside(epochs=("99",), samples=5)
    errors = measure_runs([PROBING], trained[:2], store, Conditions("serial"))
    assert list(errors) == [(trained[0].digest, "inside")]
    assert "damaged" in errors[trained[0].digest, "inside"]
    assert patterns_of(store, trained[1])
    (reason,) = measure_runs([missing], trained[1:2], store, Conditions("serial")).values()
    assert "epochs 0 to 2" in reason


def test_a_measurement_travels_as_a_line() -> None:
    wanted = Inside(epochs=("0",), every=3)
    job = MeasuringJob("run", "/place", "inside", wanted.values(), {"epoch": "0"}, "cpu", 1, None)
    line = as_line(job)
    assert json.loads(line)["kind"] == "measure"
    read = from_line(line)
    assert isinstance(read, MeasuringJob)
    assert measurement_of(read.measurement, read.options) == wanted, "lists are tuples again"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"epochs": "last"}, "tuple of texts"),
        ({"samples": 0}, "at least 1"),
        ({"every": 0}, "at least 1"),
        ({"epochs": ()}, "got neither"),
    ],
)
def test_a_plan_that_means_nothing_is_refused(values, words) -> None:
    with pytest.raises(ValueError, match=words):
        Inside(**values)
