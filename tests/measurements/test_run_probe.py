"""Looking into runs that exist: computed once, kept, and the same numbers as along training."""

import copy
import json

import pytest

from semfocus.measurements import run_probe
from semfocus.measurements.run_probe import probe_run
from semfocus.measurements.training_probe import ProbeObserver, along_training, probe_along
from semfocus.runs import RunBusy, RunDirectory, Store
from semfocus.runs.directory import DamagedRun
from semfocus.training import run


@pytest.fixture
def counted(monkeypatch) -> list[dict]:
    """The calls of the probes."""
    calls: list[dict] = []
    real = run_probe.probe_rows

    def note(*arguments, **options) -> list:
        calls.append(options | {"num": len(arguments[1])})
        return real(*arguments, **options)

    monkeypatch.setattr(run_probe, "probe_rows", note)
    return calls


def test_rows_are_computed_once_and_kept(store: Store, tiny_spec, counted) -> None:
    spec = tiny_spec()
    run(spec, store)
    first = probe_run(spec, store, samples=20)
    assert [call["num"] for call in counted] == [20, 20]
    assert {(row["epoch"], row["data"], row["samples"]) for row in first} == {
        (4, "train", 20),
        (4, "held_out", 20),
    }
    assert {(row["pattern"], row["counterfactual"]) for row in first} == {("top_k(3)", False)}
    assert probe_run(store.directory(spec), samples=20, epoch=4) == first
    assert probe_run(spec, store, samples=20, data="train") == [
        row for row in first if row["data"] == "train"
    ]
    assert len(counted) == 2, "must be read, not computed"
    assert probe_run(spec, store, samples=10, data="train") != first
    assert len(counted) == 3


def test_only_what_is_missing_is_computed(store: Store, tiny_spec, counted) -> None:
    spec = tiny_spec(pattern="full")
    run(spec, store)
    own = probe_run(spec, store, data="train", samples=10)
    both = probe_run(spec, store, data="train", samples=10, patterns=["top_k(3)"])
    assert [row for row in both if not row["counterfactual"]] == own
    assert {row["pattern"] for row in both if row["counterfactual"]} == {"top_k(3)"}
    more = probe_run(spec, store, data="train", samples=10, patterns=["top_k(3)", "banded(3)"])
    assert [str(each) for each in counted[-1]["patterns"]] == ["banded(3)"]
    assert [row for row in more if row["pattern"] == "top_k(3)"] == [
        row for row in both if row["pattern"] == "top_k(3)"
    ]
    kept = store.directory(spec).kept("inside")
    names = [tuple(row[key] for key in ("quantity", "layer", "data", "pattern")) for row in kept]
    assert len(names) == len(set(names))
    assert len(counted) == 3


def test_a_version_that_knows_more_quantities_measures_again(
    store: Store, tiny_spec, counted, monkeypatch
) -> None:
    spec = tiny_spec()
    run(spec, store)
    probe_run(spec, store, data="train", samples=10)
    before = len(store.directory(spec).kept("inside"))
    monkeypatch.setattr(run_probe, "QUANTITIES", {**run_probe.QUANTITIES, "another": None})
    probe_run(spec, store, data="train", samples=10)
    assert len(counted) == 2
    assert len(store.directory(spec).kept("inside")) == before, "the older rows are replaced"


def test_fewer_sequences_than_asked_for(store: Store, tiny_spec, counted) -> None:
    spec = tiny_spec()
    run(spec, store)
    first = probe_run(spec, store)
    assert {(row["data"], row["samples"]) for row in first} == {("train", 60), ("held_out", 30)}
    assert probe_run(spec, store) == first
    assert len(counted) == 2


def test_any_epoch_and_what_may_be_wrong_with_it(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    record = copy.deepcopy(dict(run(spec, store)))
    rows = probe_run(spec, store, epoch=0, data="train", samples=10)
    assert {row["epoch"] for row in rows} == {0}
    assert "problems" not in rows[0]
    record["environment"]["numerics"]["torch"] = "0.1"
    store.directory(spec).write_record(record)
    assert "other numerics" in probe_run(spec, store, epoch=2, data="train", samples=10)[0]["problems"][0]
    with pytest.raises(ValueError, match="has epochs 0 to 4"):
        probe_run(spec, store, epoch=9)
    with pytest.raises(ValueError, match="data must be one of train, held_out, got 'test'"):
        probe_run(spec, store, data="test")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="samples must be at least 1, got 0"):
        probe_run(spec, store, samples=0)
    with pytest.raises(ValueError, match="needs the store"):
        probe_run(spec)


def test_what_another_process_adds_meanwhile_is_kept(store: Store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    directory = store.directory(spec)
    other = {
        "quantity": "x",
        "layer": 0,
        "head": 0,
        "pattern": "full",
        "counterfactual": False,
        "quantiles": {},
    }
    other |= {"epoch": 1, "data": "train", "samples": 5}
    write = RunDirectory.keep
    real = run_probe.model_at

    def loaded(*arguments):
        write(directory, "inside", [other])
        return real(*arguments)

    def write_if_owned(self: RunDirectory, name: str, rows: list) -> None:
        with pytest.raises(RunBusy), RunDirectory(self.path).owned():
            pass
        write(self, name, rows)

    monkeypatch.setattr(run_probe, "model_at", loaded)
    monkeypatch.setattr(RunDirectory, "keep", write_if_owned)
    rows = probe_run(spec, store, data="train", samples=10)
    assert directory.kept("inside") == [other, *rows]


def test_a_finished_run_gives_the_rows_that_training_would_have_noted(
    store: Store, tiny_spec, tmp_path, counted
) -> None:
    spec = tiny_spec(pattern="random(3)", training={"optimiser": "adam", "learning_rate": 0.01})
    noted = run(spec, Store(tmp_path / "noted"), observers=[ProbeObserver(3)])["probes"]
    run(spec, store)
    counted.clear()
    assert along_training(store.directory(spec)) == []
    later = probe_along(store.directory(spec), 3)
    assert [{key: value for key, value in row.items() if key != "quantities"} for row in later] == noted
    assert len(counted) == 6
    assert probe_along(store.directory(spec), 3) == later
    assert len(counted) == 6, "must be read, not computed"
    finer = probe_along(store.directory(spec), 2)
    assert sorted({row["epoch"] for row in finer}) == [0, 2, 3, 4]
    assert len(counted) == 8
    assert probe_along(Store(tmp_path / "noted").directory(spec), 3) == noted
    with pytest.raises(ValueError, match="every must be at least 1, got 0"):
        probe_along(store.directory(spec), 0)


def test_what_was_measured_before_an_interruption_is_kept(store: Store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    real, calls = run_probe.probe_rows, []

    def interrupted(*arguments, **options) -> list:
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(run_probe, "probe_rows", interrupted)
    with pytest.raises(KeyboardInterrupt):
        probe_along(store.directory(spec), 1)
    assert sorted({row["epoch"] for row in along_training(store.directory(spec))}) == [0]
    assert sorted({row["epoch"] for row in probe_along(store.directory(spec), 1)}) == [0, 1, 2, 3, 4]


def test_rows_of_another_shape_are_damage(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    directory = store.directory(spec)
    record = run(spec, store)
    sound = probe_run(spec, store, data="train", samples=10)[0]
    wrong = [{}, {"rows": 3}, {"rows": [{"quantity": "x"}]}, {"rows": [sound | {"layer": "first"}]}]
    for content in [*map(json.dumps, wrong), "{"]:
        (directory.path / "probes.json").write_text(content)
        with pytest.raises(DamagedRun, match=r"probes\.json is damaged"):
            directory.kept("inside")
    directory.keep("inside", [sound])
    assert directory.kept("inside") == [sound]
    directory.write_record(record | {"probes": [{"epoch": 1}]})
    with pytest.raises(DamagedRun, match="probes is not a list of probe rows"):
        directory.record()


def test_probes_see_the_keys_that_a_control_chose(store: Store, tiny_spec) -> None:
    """Of the six keys of a query, two decide the label; whoever is handed them looks nowhere else."""

    def mean_of(model: dict, pattern: str, quantity: str) -> float:
        spec = tiny_spec(pattern=pattern, model=model, training={"epochs": 1})
        run(spec, store)
        rows = probe_run(spec, store, samples=20, data="train")
        (row,) = [each for each in rows if each["quantity"] == quantity and each["layer"] is None]
        assert not row["counterfactual"]
        return row["mean"]

    oracle = {"selection": "relevant"}
    assert mean_of(oracle, "full", "num_kept") == 2
    assert mean_of(oracle, "full", "focus_mass") == pytest.approx(1)
    assert mean_of(oracle, "full", "focus_chance") == pytest.approx(1 / 3)  # of all allowed keys
    for control in ({"selection": "initial"}, {"selection_noise": 1.0}, {"match_dispersion": "full"}):
        assert mean_of(control, "top_k(3)", "num_kept") == 3
    matched, plain = (
        mean_of({"match_entropy": each}, "full", "effective_keys") for each in ("top_k(3)", None)
    )
    assert mean_of({"match_entropy": "top_k(3)"}, "full", "num_kept") == 6
    assert matched < 3 < plain
