import errno
import os
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
import torch

from semfocus.durable import intercept
from semfocus.measurements.lengths import Lengths, lengths_for
from semfocus.measurements.run_probe import probe_run
from semfocus.randomness import stream
from semfocus.runs import RunBusy, RunDirectory, RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.training import run, trained_run


def accuracies(spec: RunSpec, store: Store, lengths: list[int], num: int) -> list[dict]:
    """The rows of these lengths, measured where they are missing."""
    directory = store.directory(spec)
    Lengths(tuple(lengths), num).complete(directory)
    known = {(row["length"], row["num"]): row for row in directory.kept("lengths")}
    return [known[length, num] for length in lengths]


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
    write = RunDirectory.keep

    real = trained_run.load_run

    def loaded(*arguments: object) -> trained_run.TrainedRun:
        write(directory, "lengths", [other])
        return real(*arguments)

    def write_if_owned(self: RunDirectory, name: str, rows: list) -> None:
        with pytest.raises(RunBusy), RunDirectory(self.path).owned():
            pass
        write(self, name, rows)

    monkeypatch.setattr("semfocus.training.trained_run.load_run", loaded)
    monkeypatch.setattr(RunDirectory, "keep", write_if_owned)
    (row,) = accuracies(spec, store, [6], num=30)
    assert directory.kept("lengths") == [row, other]


def test_evaluations_of_another_shape_are_damage(store, tiny_spec) -> None:
    directory = store.directory(tiny_spec())
    directory.create({})
    for text in ("{}", '{"rows": 3}', '{"rows": [{"length": 6}]}'):
        (directory.path / "evaluations.json").write_text(text)
        with pytest.raises(DamagedRun, match="not rows of the measurement"):
            directory.kept("lengths")


def test_accuracies_are_computed_once_and_kept_with_the_run(store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    first = accuracies(spec, store, [6, 12], num=30)
    assert [row["length"] for row in first] == [6, 12]
    assert all(0 <= row["accuracy"] <= 1 and row["epoch"] == 4 for row in first)
    trained = trained_run.load_run(store.directory(spec))
    for row in first:
        tokens, labels = trained.spec.task_value.sample(
            30, row["length"], stream(spec.seed, f"evaluate/{row['length']}")
        )
        with torch.no_grad():
            right = trained.model.eval()(tokens).argmax(-1) == labels
        assert row["accuracy"] == pytest.approx(float(right.float().mean()))

    def refuse(*arguments: object) -> None:
        raise AssertionError("must be read, not computed")

    with monkeypatch.context() as patched:
        patched.setattr("semfocus.training.trained_run.load_run", refuse)
        assert accuracies(spec, store, [12], num=30) == first[1:]
    more = accuracies(spec, store, [12, 20], num=30)
    assert more[0] == first[1]
    assert accuracies(spec, store, [6], num=10) != first[:1]


def unreadable(name: str) -> AbstractContextManager[None]:
    """Reading this file of the last checkpoint fails, as on a disk that has a bad moment."""

    def fail(kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if kind == "read" and path.parent.name == "last-000004" and path.name == name:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return make(*arguments)

    return intercept(fail)


@pytest.mark.parametrize("name", ["manifest.json", "model.safetensors"])
def test_a_checkpoint_that_cannot_be_read_is_never_replaced_by_an_older_one(
    store, tiny_spec, name: str
) -> None:
    spec = tiny_spec()
    run(spec, store, checkpoint_seconds=0)
    directory = store.directory(spec)
    with unreadable(name):
        with pytest.raises(OSError, match="Input/output error"):
            accuracies(spec, store, [6], num=30)
        with pytest.raises(OSError, match="Input/output error"):
            probe_run(directory)
    assert directory.kept_names() == []
    assert [path.name for path in directory.checkpoints.glob("at-*")] == []
    assert accuracies(spec, store, [6], num=30)[0]["epoch"] == 4


def test_a_damaged_last_checkpoint_is_not_replaced_by_an_older_one(store, tiny_spec) -> None:
    spec = tiny_spec()
    run(spec, store, checkpoint_seconds=0)
    directory = store.directory(spec)
    (directory.checkpoints / "last-000004" / "model.safetensors").write_bytes(b"")
    assert (directory.checkpoints / "last-000003").is_dir()
    with pytest.raises(ValueError, match="no usable last checkpoint: last-000004: model"):
        accuracies(spec, store, [6], num=30)
    shutil.rmtree(directory.checkpoints / "last-000004")
    with pytest.raises(ValueError, match="that of epoch 4 is missing"):
        accuracies(spec, store, [6], num=30)
    assert directory.kept_names() == []


def test_what_an_older_checkpoint_gave_is_measured_again(store, tiny_spec) -> None:
    spec = tiny_spec()
    run(spec, store)
    directory = store.directory(spec)
    right = accuracies(spec, store, [6], num=30)
    directory.keep("lengths", [{**right[0], "epoch": 3, "accuracy": 0.0}])
    assert accuracies(spec, store, [6], num=30) == right == directory.kept("lengths")
