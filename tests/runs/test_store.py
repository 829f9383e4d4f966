import copy
import json
import pickle
import threading
from pathlib import Path

import pytest

from semfocus.runs import RunBusy, open_store
from semfocus.runs.directory import DamagedRun, RunDirectory
from semfocus.runs.outcome import summarise
from semfocus.runs.progress import StoreProgress
from semfocus.runs.record import Record, result_digest
from semfocus.runs.shape import SUMMARY_NUMBERS
from semfocus.training import run


def test_default_store_is_runs_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEMFOCUS_STORE", raising=False)
    assert open_store().path == Path("runs")
    monkeypatch.setenv("SEMFOCUS_STORE", "elsewhere")
    assert open_store().path == Path("elsewhere")
    assert open_store("here").path == Path("here")


def test_opening_a_store_creates_nothing(tmp_path: Path) -> None:
    assert open_store(tmp_path / "runs").records() == []
    assert list(tmp_path.iterdir()) == []


def test_records_are_plain_and_complete(store, tiny_spec) -> None:
    spec = tiny_spec()
    record = run(spec, store)
    assert store.records() == [record]
    assert record["state"] == "done"
    assert record["spec"] == spec.model_dump(mode="json")
    assert record["curve"]["epoch"] == [0, 1, 2, 3, 4]


CHANGES = {
    "an item": lambda part: part.__setitem__("x", 1),
    "an item away": lambda part: part.__delitem__("epochs"),
    "update": lambda part: part.update(x=1),
    "default": lambda part: part.setdefault("x", 1),
    "pop": lambda part: part.pop("epochs"),
    "popitem": lambda part: part.popitem(),
    "clear": lambda part: part.clear(),
    "or": lambda part: part.__ior__({"x": 1}),
}
CHANGES_OF_LISTS = {
    "an item": lambda part: part.__setitem__(0, 1),
    "a slice": lambda part: part.__setitem__(slice(None), []),
    "an item away": lambda part: part.__delitem__(0),
    "append": lambda part: part.append(1),
    "extend": lambda part: part.extend([1]),
    "insert": lambda part: part.insert(0, 1),
    "pop": lambda part: part.pop(),
    "remove": lambda part: part.remove(1),
    "clear": lambda part: part.clear(),
    "sort": lambda part: part.sort(),
    "reverse": lambda part: part.reverse(),
    "more": lambda part: part.__iadd__([1]),
    "times": lambda part: part.__imul__(2),
}


def test_no_part_of_a_record_can_be_changed(store, tiny_spec) -> None:
    run(tiny_spec(), store)
    (record,) = store.records()
    record = record | {"probes": [{"epoch": 0, "quantiles": {"50": 1.0}}], "pair": ({"x": [1]},)}
    record = Record(record, measurements={"own": [{"rows": [[1], {"x": 1}]}]})
    before = json.dumps(record)
    parts, found = [record, record.measurements["own"]], []
    while parts:
        part = parts.pop()
        found.append(part)
        parts += [each for each in (part.values() if isinstance(part, dict) else part) if not is_single(each)]
    assert len(found) > 30
    for part in found:
        changes = CHANGES if isinstance(part, dict) else {} if isinstance(part, tuple) else CHANGES_OF_LISTS
        for change in changes.values():
            with pytest.raises(TypeError, match="a record is frozen"):
                change(part)
    assert json.dumps(record) == before


def is_single(value: object) -> bool:
    return value is None or isinstance(value, str | int | float)


def test_a_frozen_record_is_its_plain_values(store, tiny_spec) -> None:
    """Equal, written alike, with the same digest; what copies and pickles make of a part can be changed."""
    run(tiny_spec(), store)
    (record,) = store.records()
    plain = json.loads((store.directory(tiny_spec()).path / "record.json").read_text())
    assert record == plain
    assert json.dumps(record, sort_keys=True) == json.dumps(plain, sort_keys=True)
    assert result_digest(record) == result_digest(plain)
    for again in (pickle.loads(pickle.dumps(record)), copy.deepcopy(record), copy.copy(record)):
        assert isinstance(again, Record)
        assert again == plain
        assert again.directory is not None
        with pytest.raises(TypeError, match="frozen"):
            again["curve"]["epoch"].append(5)
    for part in (pickle.loads(pickle.dumps(record.curve)), copy.deepcopy(record.curve)):
        part["epoch"].append(5)
    mine = {**record.summary}
    mine["epochs"] = 7
    assert record == plain


def test_what_a_record_is_made_of_is_not_the_record() -> None:
    """Who made a record from values of their own may go on to change these."""
    curve = {"epoch": [0, 1]}
    rows = [{"x": 1}]
    record = Record({"run": "a", "curve": curve}, measurements={"own": rows})
    curve["epoch"].append(2)
    rows[0]["x"] = 2
    assert (record.curve, record.measurements["own"]) == ({"epoch": [0, 1]}, [{"x": 1}])


def test_a_run_that_never_ended_is_read_from_its_journal(store, tiny_spec) -> None:
    spec = tiny_spec()
    directory = store.directory(spec)
    directory.create(spec.model_dump(mode="json"))
    directory.note("attempt", resumed_after=-1, problems=[])
    (record,) = store.records()
    assert (record["state"], record["curve"]) == ("unfinished", {})
    directory.note("failed", kind="OSError", reason="No space left on device")
    (record,) = store.records()
    assert (record["state"], record["reason"]) == ("failed", "No space left on device")


def test_a_corrupt_journal_is_reported_not_hidden(store, tiny_spec) -> None:
    spec = tiny_spec()
    directory = store.directory(spec)
    directory.create(spec.model_dump(mode="json"))
    (directory.path / "journal.jsonl").write_text('{"event": "epoch", "crc": "00000000"}\n')
    (record,) = store.records()
    assert record["state"] == "corrupt"
    assert "line 1" in record["reason"]


WRONG = {
    "an empty record": ("record.json", lambda record: {}),
    "a record without a curve": ("record.json", lambda record: record | {"curve": None}),
    "a curve that is cut": (
        "record.json",
        lambda record: record | {"curve": record["curve"] | {"epoch": [0]}},
    ),
    "a curve of words": ("record.json", lambda record: record | {"curve": {"epoch": ["first"]}}),
    "a summary in words": (
        "record.json",
        lambda record: record | {"summary": {**record["summary"], "epochs_to_target": "soon"}},
    ),
    "a summary without its end": ("record.json", lambda record: record | {"summary": {}}),
    "a loss that is no number": (
        "record.json",
        lambda record: record | {"curve": {**record["curve"], "train_loss": [float("nan")] * 5}},
    ),
    "an environment in words": ("record.json", lambda record: record | {"environment": "here"}),
    "a recipe that is a list": ("spec.json", lambda record: {**record["spec"], "recipe": ["a"]}),
    "a summary that is a list": ("record.json", lambda record: record | {"summary": [1]}),
    "a task that is a number": (
        "record.json",
        lambda record: record | {"spec": record["spec"] | {"task": 5}},
    ),
    "another's spec": ("spec.json", lambda record: {"x": 1}),
    "a spec with another task": ("spec.json", lambda record: record["spec"] | {"task": 5}),
    "a spec without epochs": ("spec.json", lambda record: record["spec"] | {"training": {}}),
    "a temperature in words": (
        "spec.json",
        lambda record: record["spec"] | {"model": {"inverse_temperature": "hot"}},
    ),
    "a clip in words": ("spec.json", lambda record: record["spec"] | {"model": {"score_clip": "tight"}}),
    "one scale for all": ("spec.json", lambda record: record["spec"] | {"model": {"initial_scale": 3.0}}),
    "a matched number": ("spec.json", lambda record: record["spec"] | {"model": {"match_entropy": 5}}),
    "noise in words": ("spec.json", lambda record: record["spec"] | {"model": {"selection_noise": "much"}}),
    "steps in words": (
        "spec.json",
        lambda record: record["spec"] | {"training": record["spec"]["training"] | {"plain_after": "ten"}},
    ),
    "steps that are cut": (
        "record.json",
        lambda record: record | {"steps": {"step": [1, 2], "train_accuracy": [0.5]}},
    ),
    "no factor": ("spec.json", lambda record: record["spec"] | {"model": {"score_gradient": None}}),
}


@pytest.mark.parametrize(("name", "change"), WRONG.values(), ids=WRONG.keys())
def test_json_of_another_shape_is_corrupt_for_every_reader(store, tiny_spec, name: str, change) -> None:
    record = run(tiny_spec(), store)
    path = store.directory(tiny_spec()).path
    (path / "record.json").unlink()
    (path / name).write_text(json.dumps(change(record)))
    (found,) = store.records()
    assert (found["state"], found["spec"]) == ("corrupt", {})
    assert name in found["reason"]
    (study,) = StoreProgress(store).studies()
    assert study.count("corrupt") == 1
    if name == "record.json":
        with pytest.raises(DamagedRun, match="is damaged"):
            run(tiny_spec(), store)


def test_every_number_of_a_summary_is_checked() -> None:
    row = dict.fromkeys(("train_accuracy", "held_out_accuracy", "train_loss", "held_out_loss"), 0.5)
    rows = [{**row, "epoch": 0, "train_seconds": 0.1}]
    assert {*summarise(rows, "parity"), *summarise(rows, "text:a")} == {*SUMMARY_NUMBERS}


def test_a_record_that_is_a_directory_is_corrupt(store, tiny_spec) -> None:
    directory = store.directory(tiny_spec())
    directory.create(tiny_spec().model_dump(mode="json"))
    (directory.path / "record.json").mkdir()
    (record,) = store.records()
    assert record["state"] == "corrupt"


def test_a_patient_owner_waits_for_the_other(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.create({})
    held = directory.owned()
    held.__enter__()
    timer = threading.Timer(0.1, held.__exit__, (None, None, None))
    timer.start()
    with RunDirectory(directory.path).owned(patience=30):
        pass
    timer.join()


def test_a_run_is_found_by_path_name_or_beginning(store, tiny_spec) -> None:
    directories = []
    for seed in range(3):
        spec = tiny_spec(seed=seed)
        directories.append(store.directory(spec))
        directories[-1].create(spec.model_dump(mode="json"))
    wanted = directories[0]
    for name in (str(wanted.path), wanted.name, wanted.name[:10]):
        assert store.find(name).name == wanted.name
    with pytest.raises(ValueError, match="no run is called 'zzz'"):
        store.find("zzz")
    with pytest.raises(ValueError, match="no run is called ''"):
        store.find("")


def test_two_owners_are_impossible(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    directory.create({})
    with directory.owned(), pytest.raises(RunBusy, match="another process"):
        RunDirectory(directory.path).owned().__enter__()
    with directory.owned():
        pass
