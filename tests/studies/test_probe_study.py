"""Looking into all runs of a study: what is missing, on the pool or here, and what is kept."""

import json

import pytest

from semfocus.runs import Store
from semfocus.studies import run_study
from semfocus.studies.kinds import as_line, from_line
from semfocus.studies.probe_job import Look, is_measured, probing_of
from semfocus.studies.probe_plan import Probing
from semfocus.studies.probe_study import probe_study
from studies.minis import mini_study

PROBING = Probing(epochs=("0", "last"), samples=5, patterns=("top_k(2)", "banded(2)"))


@pytest.fixture
def trained(store: Store):
    specs = mini_study()
    run_study(specs, store, executor="serial")
    return specs


def looks(store, specs, probing=PROBING, **options) -> list[str]:
    """The runs that were looked into."""
    seen: list[str] = []
    errors = probe_study(
        specs,
        store,
        probing,
        executor=options.pop("executor", "serial"),
        watch=lambda spec, *_: seen.append(spec.digest),
        **options,
    )
    assert errors == {}
    return seen


def patterns_of(store, spec) -> set[tuple[int, str, bool]]:
    return {(row["epoch"], row["pattern"], row["counterfactual"]) for row in store.directory(spec).probes()}


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
    more = Probing(epochs=("0", "last"), samples=5, patterns=("banded(2)", "block_local(2)"))
    assert looks(store, trained, more) == [spec.digest for spec in trained if spec.pattern == "full"]


def test_worker_processes_keep_the_same_rows(store, trained, tmp_path) -> None:
    looks(store, trained[:2], executor="pool", workers=2)
    there = [store.directory(spec).probes() for spec in trained[:2]]
    for spec in trained[:2]:
        (store.directory(spec).path / "probes.json").unlink()
    looks(store, trained[:2])
    assert [store.directory(spec).probes() for spec in trained[:2]] == there


def test_a_run_that_was_trained_without_is_measured_along_its_way(store, trained) -> None:
    along = Probing(epochs=(), every=1)
    assert not is_measured(store.directory(trained[0]), along)
    looks(store, trained[:1], along)
    assert {row["epoch"] for row in store.directory(trained[0]).probes()} == {0, 1, 2}
    assert is_measured(store.directory(trained[0]), along)


def test_an_accuracy_that_was_never_reached_is_passed_over(store, trained) -> None:
    looks(store, trained[:1], Probing(epochs=("reaching:1.5", "0"), samples=5))  # on no machine
    assert {row["epoch"] for row in store.directory(trained[0]).probes()} == {0}


def test_a_run_that_cannot_be_looked_into_does_not_stop_the_others(store, trained) -> None:
    directory = store.directory(trained[0])
    (directory.path / "probes.json").write_text("{")
    missing = Probing(epochs=("99",), samples=5)
    errors = probe_study(trained[:2], store, PROBING, executor="serial")
    assert list(errors) == [trained[0].digest]
    assert "damaged" in errors[trained[0].digest]
    assert patterns_of(store, trained[1])
    assert "epochs 0 to 2" in probe_study(trained[1:2], store, missing, executor="serial")[trained[1].digest]


def test_a_look_travels_as_a_line(store) -> None:
    look = Look("run", "/place", {"epochs": ["0"], "every": 3}, "cpu", 1, None)
    assert from_line(as_line(look)) == look
    assert json.loads(as_line(look))["kind"] == "look"
    assert probing_of(look.probing) == Probing(epochs=("0",), every=3)


@pytest.mark.parametrize(
    ("values", "words"),
    [({"epochs": "last"}, "tuple of texts"), ({"samples": 0}, "at least 1"), ({"every": 0}, "at least 1")],
)
def test_a_plan_that_means_nothing_is_refused(values, words) -> None:
    with pytest.raises(ValueError, match=words):
        Probing(**values)
