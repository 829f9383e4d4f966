"""A run's model after any epoch is the one that the run had, to the last bit."""

import copy
import shutil
from dataclasses import replace

import pytest
import torch

from semfocus.runs import RunBusy, RunDirectory, Store, result_digest
from semfocus.runs.checkpoints import Checkpoint, load_checkpoint, save_checkpoint, weights_digest
from semfocus.training import Attempt, EpochResult, Observer, build_model, replay, run
from semfocus.training.replay import epoch_reaching, model_at, replayed


class Digests(Observer):
    """The digest of the weights after every epoch."""

    def __init__(self) -> None:
        self.after: dict[int, str] = {}

    def prepared(self, attempt: Attempt) -> None:
        self.model = attempt.model

    def epoch_ended(self, result: EpochResult) -> None:
        self.after[result.epoch] = weights_digest(self.model.state_dict())


def digest(trained) -> str:
    return weights_digest(trained.model.state_dict())


VARIANTS = {
    "sgd": {},
    "adam": {"training": {"optimiser": "adam", "learning_rate": 0.01, "epochs": 6}},
    "momentum, decay": {"training": {"momentum": 0.9, "learning_rate_decay": 0.5, "epochs": 6}},
    "random pattern": {"pattern": "random(3)", "model": {"dropout": 0.5}},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_epoch_is_the_runs_own(store: Store, tiny_spec, changes) -> None:
    spec = tiny_spec(**{"training": {"epochs": 6}} | changes)
    own = Digests()
    run(spec, store, observers=[own])
    directory = store.directory(spec)
    for epoch in (3, 1, 5, 0, 6):  # the second before the first that was kept, the third after it
        trained = model_at(directory, epoch)
        assert (trained.epoch, trained.problems) == (epoch, ())
        assert digest(trained) == own.after[epoch], epoch
    assert digest(model_at(directory, 0)) == weights_digest(build_model(spec).state_dict())


def test_what_was_kept_is_read_and_not_trained_again(store: Store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    first = digest(model_at(store.directory(spec), 2))
    assert (store.directory(spec).checkpoints / "at-000002").is_dir()
    monkeypatch.setattr(replay, "train_epoch", None)
    assert digest(model_at(store.directory(spec), 2)) == first
    last, best = model_at(store.directory(spec), "last"), model_at(store.directory(spec), "best")
    assert (last.epoch, best.epoch) == (4, store.records()[0]["summary"]["best_epoch"])


def test_a_later_stop_continues_from_the_latest_state_before_it(store: Store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    run(spec, store)
    directory = store.directory(spec)
    model_at(directory, 2)
    trained: list[int] = []
    train_epoch = replay.train_epoch

    def counted(*arguments) -> float:
        trained.append(arguments[5])
        return train_epoch(*arguments)

    monkeypatch.setattr(replay, "train_epoch", counted)
    model_at(directory, 3)
    assert trained == [3]


def test_a_damaged_state_is_trained_again_and_said(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    own = Digests()
    run(spec, store, observers=[own])
    directory = store.directory(spec)
    for path in directory.checkpoints.glob("last-*/model.safetensors"):
        path.write_bytes(b"")
    trained = model_at(directory, "last")
    assert digest(trained) == own.after[4]
    assert "last-000004" in trained.problems[0]


class Stop(Observer):
    def epoch_ended(self, result: EpochResult) -> None:
        if result.epoch == 3:
            raise KeyboardInterrupt


def test_kept_states_outlive_a_new_start_and_are_never_resumed_from(
    store: Store, tiny_spec, tmp_path
) -> None:
    spec = tiny_spec()
    whole = run(spec, Store(tmp_path / "whole"))
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[Stop()], checkpoint_seconds=1000)
    directory = store.directory(spec)
    trained = model_at(directory, 2)
    assert trained.problems == ()
    # A kept state that training must not see: were it used, the result would be another.
    wrong = {name: torch.zeros_like(value) for name, value in trained.model.state_dict().items()}
    save_checkpoint(directory.checkpoints, "at", Checkpoint(3, {"model": wrong}), keep=None)
    shutil.rmtree(directory.checkpoints / "last-000003")
    record = run(spec, store)
    assert [event["resumed_after"] for event in directory.events() if event["event"] == "attempt"] == [-1, 0]
    assert result_digest(record) == result_digest(whole)
    assert sorted(path.name for path in directory.checkpoints.glob("at-*")) == ["at-000002", "at-000003"]
    assert digest(model_at(directory, 2)) == digest(trained)


def test_epochs_that_the_run_does_not_have(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    run(spec, store)
    directory = store.directory(spec)
    with pytest.raises(ValueError, match=r"has epochs 0 to 4 \(done\), not 5"):
        model_at(directory, 5)
    for wrong in (-1, "first", 2.5, ""):
        with pytest.raises(ValueError, match="epoch must be a number, last, best or reaching:ACCURACY, got"):
            model_at(directory, wrong)
    with pytest.raises(ValueError, match=r"never reached a training accuracy of 1\.5"):
        model_at(directory, "reaching:1.5")
    with pytest.raises(ValueError, match=r"needs a training accuracy such as 0\.95, got 'x'"):
        model_at(directory, "reaching:x")


def test_the_first_epoch_that_reaches_an_accuracy() -> None:
    record = {"curve": {"epoch": [0, 1, 2, 3], "train_accuracy": [0.5, 0.95, 0.9, 0.99]}}
    assert [epoch_reaching(record, each) for each in (0.4, 0.95, 0.96, 1.0)] == [0, 1, 3, None]
    assert epoch_reaching({}, 0.5) is None


def test_a_run_that_diverged_has_the_epochs_before(store: Store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    own = Digests()
    from semfocus.training import Diverged, loop

    step, calls = loop.training_step, []

    def breaks(*arguments):
        calls.append(1)
        if len(calls) > 15:  # in the third epoch
            raise Diverged("the loss is not finite")
        return step(*arguments)

    monkeypatch.setattr(loop, "training_step", breaks)
    assert run(spec, store, observers=[own])["state"] == "diverged"
    monkeypatch.setattr(loop, "training_step", step)
    directory = store.directory(spec)
    with pytest.raises(ValueError, match=r"epochs 0 to 2 \(diverged: the loss is not finite in epoch 3"):
        model_at(directory, 3)
    assert digest(model_at(directory, 1)) == own.after[1]
    assert digest(model_at(directory, "last")) == own.after[2]


def test_a_run_without_an_epoch(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    store.directory(spec).create(spec.model_dump(mode="json"))
    with pytest.raises(ValueError, match="no state to measure: unfinished, no epoch has ended"):
        model_at(store.directory(spec))


def test_other_numerics_are_said_each_time(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    record = copy.deepcopy(dict(run(spec, store)))
    directory = store.directory(spec)
    record["environment"]["numerics"]["torch"] = "0.1"
    directory.write_record(record)
    for _ in range(2):  # trained again, then read
        (problem,) = model_at(directory, 2).problems
        assert "other numerics" in problem
        assert "'torch': '0.1'" in problem
    record["curve"]["train_loss"][3] += 1e-9
    directory.write_record(record)
    problems = model_at(directory, 3).problems
    assert any("training loss" in each and "epoch 3" in each for each in problems)


def test_a_checkpoint_of_another_model(store: Store, tiny_spec) -> None:
    spec, wider = tiny_spec(), tiny_spec(model={"d_model": 12})
    same_shape = tiny_spec(seed=5)
    for each in (spec, wider, same_shape):
        run(each, store)
    directory = store.directory(spec)
    for other, message in (
        (wider, "is of another model: "),
        (same_shape, "its weights are others"),
    ):
        foreign = load_checkpoint(store.directory(other).checkpoints / "last-000004")
        save_checkpoint(directory.checkpoints, "last", foreign, keep=2)
        with pytest.raises(ValueError, match=message):
            model_at(directory, "last")
    empty = replace(foreign, epoch=1, groups={"model": {}})
    save_checkpoint(directory.checkpoints, "at", empty, keep=None)
    with pytest.raises(ValueError, match="is of another model"):
        model_at(directory, 1)


def test_a_busy_run_is_still_looked_at(store: Store, tiny_spec, monkeypatch) -> None:
    spec = tiny_spec()
    own = Digests()
    run(spec, store, observers=[own])
    monkeypatch.setattr(replay, "_PATIENCE", 0.0)
    with RunDirectory(store.directory(spec).path).owned():
        trained = model_at(store.directory(spec), 2)
        with pytest.raises(RunBusy), store.directory(spec).owned():
            pass
    assert digest(trained) == own.after[2]
    assert "could not be kept" in trained.problems[0]
    assert not list(store.directory(spec).checkpoints.glob("at-*"))


def test_stops_on_the_way(store: Store, tiny_spec) -> None:
    spec = tiny_spec()
    own = Digests()
    run(spec, store, observers=[own])
    seen = {each.epoch: digest(each) for each in replayed(store.directory(spec), [0, 4, 2, 2])}
    assert seen == {epoch: own.after[epoch] for epoch in (0, 2, 4)}
