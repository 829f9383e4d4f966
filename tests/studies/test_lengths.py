import pytest

from semfocus.runs import RunBusy, RunDirectory, RunSpec
from semfocus.runs.directory import DamagedRun
from semfocus.studies.lengths import accuracy_by_length, lengths_for
from semfocus.training import run, trained_run


def test_lengths_reach_500_or_twice_the_training_length() -> None:
    def of(task: str) -> list[int]:
        return lengths_for(RunSpec.model_validate({"task": task}))

    assert of("even_pairs") == [40, 42, 50, 60, 80, 120, 200, 300, 400, 500]
    assert of("missing_duplicate") == of("even_pairs")
    assert of("listops") == [599, 629, 749, 898, 1198]


def test_only_lengths_that_the_task_has_are_used(tiny_spec) -> None:
    assert all(length % 2 == 0 for length in lengths_for(tiny_spec(task="missing_duplicate")))


def test_what_another_process_adds_meanwhile_is_kept(store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    directory = store.directory(spec)
    other = {"length": 9, "num": 30, "epoch": 4, "accuracy": 0.5, "loss": 1.0, "constant_guess": 0.5}
    write = RunDirectory.write_evaluations

    def loaded(*arguments: object) -> trained_run.TrainedRun:
        write(directory, [other])
        return trained_run.load_run(*arguments)

    def write_if_owned(self: RunDirectory, rows: list) -> None:
        with pytest.raises(RunBusy), RunDirectory(self.path).owned():
            pass
        write(self, rows)

    monkeypatch.setattr("semfocus.studies.lengths.load_run", loaded)
    monkeypatch.setattr(RunDirectory, "write_evaluations", write_if_owned)
    (row,) = accuracy_by_length(spec, store, [6], num=30)
    assert directory.evaluations() == [row, other]


def test_evaluations_of_another_shape_are_damage(store, tiny_spec) -> None:
    directory = store.directory(tiny_spec())
    directory.create({})
    for text in ("{}", '{"rows": 3}', '{"rows": [{"length": 6}]}'):
        (directory.path / "evaluations.json").write_text(text)
        with pytest.raises(DamagedRun, match="not a list of evaluations"):
            directory.evaluations()


def test_accuracies_are_computed_once_and_kept_with_the_run(store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    first = accuracy_by_length(spec, store, [6, 12], num=30)
    assert [row["length"] for row in first] == [6, 12]
    assert all(0 <= row["accuracy"] <= 1 and row["epoch"] == 4 for row in first)

    def refuse(*arguments: object) -> None:
        raise AssertionError("must be read, not computed")

    monkeypatch.setattr("semfocus.studies.lengths.load_run", refuse)
    assert accuracy_by_length(spec, store, [12], num=30) == first[1:]
    monkeypatch.setattr("semfocus.studies.lengths.load_run", trained_run.load_run)
    more = accuracy_by_length(spec, store, [12, 20], num=30)
    assert more[0] == first[1]
    assert accuracy_by_length(spec, store, [6], num=10) != first[:1]
