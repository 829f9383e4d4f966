"""What an attempt checks before it continues a run."""

import errno
import os

import pytest

from semfocus.durable import intercept
from semfocus.kernels.cpu.library import load_library
from semfocus.runs import open_store, result_digest
from semfocus.runs.checkpoints import load_newest
from semfocus.runs.directory import DamagedRun
from semfocus.runs.journal import append, read_journal
from semfocus.training import Observer, run
from semfocus.training.device import same_numerics


class StopAfter(Observer):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        if epoch > self.epoch:
            raise KeyboardInterrupt


def interrupted(spec, store, epoch: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[StopAfter(epoch)], checkpoint_seconds=0)


@pytest.mark.parametrize("lines_kept", [0, 3])
def test_a_journal_that_lost_epochs_is_noticed_and_training_starts_again(
    tmp_path, tiny_spec, lines_kept
) -> None:
    spec = tiny_spec(training={"epochs": 6})
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    interrupted(spec, store, 3)
    journal = store.directory(spec).path / "journal.jsonl"
    journal.write_text("".join(journal.read_text(encoding="utf-8").splitlines(keepends=True)[:lines_kept]))
    record = run(spec, store)
    assert record["curve"]["epoch"] == [0, 1, 2, 3, 4, 5, 6]
    assert "lacks epochs" in record["problems"][0]
    assert result_digest(record) == result_digest(whole)


def test_other_numerics_in_the_middle_of_a_run_are_recorded(store, tiny_spec) -> None:
    spec = tiny_spec()
    interrupted(spec, store, 1)
    record = run(spec, store, threads=3)
    assert "continued under other numerics" in record["problems"][0]
    library = load_library()
    kernels = "none" if library is None else library.instruction_set
    assert record["environment"]["numerics"]["kernels"] == kernels


def test_a_best_checkpoint_that_cannot_be_read_is_not_replaced_by_a_worse_one(store, tiny_spec) -> None:
    spec = tiny_spec()
    interrupted(spec, store, 1)
    directory = store.directory(spec)
    before = sorted(directory.checkpoints.glob("best-*/*"))

    def fail(kind, path, make, arguments):
        if kind == "read" and path.parent.name.startswith("best-"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return make(*arguments)

    with intercept(fail), pytest.raises(OSError, match="Input/output error"):
        run(spec, store)
    assert sorted(directory.checkpoints.glob("best-*/*")) == before
    assert run(spec, store)["state"] == "done"


def test_a_best_checkpoint_from_an_abandoned_future_is_removed(store, tiny_spec) -> None:
    spec = tiny_spec()
    interrupted(spec, store, 1)
    checkpoints = store.directory(spec).checkpoints
    (best,) = checkpoints.glob("best-*")
    best.rename(checkpoints / "best-000003")
    (checkpoints / "best-000003" / "model.safetensors").write_bytes(b"of another trajectory")
    run(spec, store)
    best_after, problems = load_newest(checkpoints, "best")
    assert best_after is not None
    assert problems == []


@pytest.mark.parametrize("content", ["{", "[]", ""])
def test_a_damaged_record_is_named_and_does_not_hide_other_runs(store, tiny_spec, content) -> None:
    spec = tiny_spec()
    run(spec, store)
    run(tiny_spec(seed=1), store)
    (store.directory(spec).path / "record.json").write_text(content)
    with pytest.raises(DamagedRun, match=r"record\.json is damaged"):
        run(spec, store)
    assert sorted(record["state"] for record in store.records()) == ["corrupt", "done"]


def test_a_run_that_version_0_1_began_continues_with_the_same_digest(tmp_path, tiny_spec) -> None:
    """Its journal has no gradient norms and names no kernel version: the columns are null there, the numerics
    the same.
    """
    spec = tiny_spec(training={"epochs": 4})
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    interrupted(spec, store, 2)
    journal = store.directory(spec).path / "journal.jsonl"
    events = read_journal(journal)
    journal.unlink()
    for event in events:
        event.pop("gradient_norm", None)
        event.pop("clipped_share", None)
        event.get("numerics", {}).pop("kernel_version", None)
        append(journal, event)
    record = run(spec, store)
    assert record["curve"]["gradient_norm"][:3] == [None, None, None]
    assert record["curve"]["gradient_norm"][3:] == whole["curve"]["gradient_norm"][3:]
    assert result_digest(record) == result_digest(whole)
    unchanged = whole["environment"]["numerics"]["kernel_version"] in (None, 1)
    assert bool(record["problems"]) != unchanged


def test_kernels_of_another_version_are_other_numerics() -> None:
    old = {"torch": "2.13.0", "kernels": "avx2", "threads": 1}
    assert same_numerics(old, {**old, "kernel_version": 1})
    assert not same_numerics(old, {**old, "kernel_version": 2})
    without = {**old, "kernels": "none"}
    assert same_numerics(without, {**without, "kernel_version": None})
