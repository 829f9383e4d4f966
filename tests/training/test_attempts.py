"""What an attempt checks before it continues a run."""

import pytest

from semfocus.mechanisms.kernels.library import load_library
from semfocus.runs import result_digest
from semfocus.runs.checkpoints import load_newest
from semfocus.runs.directory import DamagedRun
from semfocus.training import Observer, run


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
    from semfocus.runs import open_store

    spec = tiny_spec(training={"epochs": 6})
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    interrupted(spec, store, 3)
    journal = store.directory(spec).path / "journal.jsonl"
    journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:lines_kept]))
    record = run(spec, store)
    assert record["curve"]["epoch"] == [0, 1, 2, 3, 4, 5, 6]
    assert "lacks epochs" in record["problems"][0]
    assert result_digest(record) == result_digest(whole)


def test_other_numerics_in_the_middle_of_a_run_are_recorded(store, tiny_spec) -> None:
    spec = tiny_spec()
    interrupted(spec, store, 1)
    record = run(spec, store, threads=2)
    assert "continued under other numerics" in record["problems"][0]
    library = load_library()
    kernels = "none" if library is None else library.instruction_set
    assert record["environment"]["numerics"]["kernels"] == kernels


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
