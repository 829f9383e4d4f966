"""A run that is stopped and continued gives the same bits as one that was not."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from semfocus.runs import Store, open_store, result_digest
from semfocus.runs.checkpoints import load_newest
from semfocus.training import EpochResult, Observer, evaluate, run
from semfocus.training.trained_run import load_run


class InterruptAfter(Observer):
    """Ctrl-C in the middle of the epoch after the given one."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        if epoch > self.epoch and batch == 2:
            raise KeyboardInterrupt


VARIANTS = {
    "sgd": {},
    "adam": {"training": {"optimiser": "adam", "learning_rate": 0.01}},
    "momentum": {"training": {"momentum": 0.9}},
    "random pattern": {"pattern": "random(3)"},
    "heavy dropout": {"model": {"dropout": 0.5}},
    "varying lengths": {"training": {"length": [3, 6]}},
    "matched entropy": {"pattern": "full", "model": {"match_entropy": "top_k(3)"}},
    "matched dispersion": {"model": {"match_dispersion": "full", "match_keeps_gradient": True}},
    "oracle keys": {"pattern": "full", "model": {"selection": "relevant"}},
    "initial keys": {"model": {"selection": "initial", "num_blocks": 2}},
    "first steps": {"training": {"plain_after": 15}},
    "later steps": {"training": {"plain_before": 15, "evaluate_every": 4}},
    "noisy keys": {"model": {"selection_noise": 1.0}},
}


@pytest.mark.parametrize("changes", VARIANTS.values(), ids=VARIANTS.keys())
def test_interrupted_runs_continue_bit_identically(tmp_path: Path, tiny_spec, changes) -> None:
    spec = tiny_spec(
        **{key: dict(value) if isinstance(value, dict) else value for key, value in changes.items()}
    )
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    for epoch in (0, 0, 2):
        with pytest.raises(KeyboardInterrupt):
            run(spec, store, observers=[InterruptAfter(epoch)])
        assert store.records()[0]["state"] == "interrupted"
    parts = run(spec, store)
    assert parts["attempts"] == 4
    assert result_digest(parts) == result_digest(whole)
    assert parts["weights"] == whole["weights"]


def damage_newest(store: Store, spec) -> int:
    newest = max(store.directory(spec).checkpoints.glob("last-*"))
    file = newest / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-3] ^= 4
    file.write_bytes(bytes(content))
    return int(newest.name.split("-")[1])


def test_a_damaged_checkpoint_falls_back_one_generation_with_the_same_result(
    tmp_path: Path, tiny_spec
) -> None:
    spec = tiny_spec(training={"epochs": 6})
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[InterruptAfter(3)], checkpoint_seconds=0)
    assert damage_newest(store, spec) == 3
    record = run(spec, store)
    assert result_digest(record) == result_digest(whole)
    (attempt,) = [event for event in store.directory(spec).events() if event.get("resumed_after") == 2]
    assert "last-000003" in attempt["problems"][0]
    assert record["problems"] == attempt["problems"]


def test_a_run_whose_checkpoints_are_all_damaged_starts_again(tmp_path: Path, tiny_spec) -> None:
    spec = tiny_spec()
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[InterruptAfter(2)], checkpoint_seconds=0)
    for path in store.directory(spec).checkpoints.glob("last-*/model.safetensors"):
        path.write_bytes(b"")
    record = run(spec, store)
    assert len(record["problems"]) == 2
    assert result_digest(record) == result_digest(whole)


def lose_the_journal(store: Store, spec) -> None:
    (store.directory(spec).path / "journal.jsonl").write_text("")


def damage_both_generations(store: Store, spec) -> None:
    for path in store.directory(spec).checkpoints.glob("last-*/model.safetensors"):
        path.write_bytes(b"")


@pytest.mark.parametrize("lose", [lose_the_journal, damage_both_generations])
def test_a_run_that_starts_again_continues_from_its_new_checkpoints(tmp_path: Path, tiny_spec, lose) -> None:
    spec = tiny_spec(training={"epochs": 8})
    whole = run(spec, open_store(tmp_path / "whole"))
    store = open_store(tmp_path / "parts")
    for epoch in (6, 2):
        with pytest.raises(KeyboardInterrupt):
            run(spec, store, observers=[InterruptAfter(epoch)], checkpoint_seconds=0)
        if epoch == 6:
            lose(store, spec)
    kept = sorted(path.name for path in store.directory(spec).checkpoints.glob("last-*"))
    assert kept == ["last-000001", "last-000002"]
    record = run(spec, store)
    attempts = [event for event in store.directory(spec).events() if event["event"] == "attempt"]
    assert attempts[-1]["resumed_after"] == 2
    assert result_digest(record) == result_digest(whole)


def test_metric_before_save_equals_metric_after_load(store, tiny_spec) -> None:
    spec = tiny_spec(training={"epochs": 5})
    record = run(spec, store)
    from semfocus.training import dataset_of

    for kind, epoch in (("last", 5), ("best", record["summary"]["best_epoch"])):
        trained = load_run(store.directory(spec), kind)
        assert trained.epoch == epoch
        again = evaluate(trained.model, dataset_of(spec).held_out, spec.seed, epoch)
        assert again.accuracy == record["curve"]["held_out_accuracy"][epoch]
        assert again.loss == record["curve"]["held_out_loss"][epoch]


def test_a_finished_run_is_not_trained_again(store, tiny_spec) -> None:
    class Forbidden(Observer):
        def epoch_ended(self, result: EpochResult) -> None:
            raise AssertionError("trained again")

    spec = tiny_spec()
    record = run(spec, store)
    assert run(spec, store, observers=[Forbidden()]) == record


COMMAND = [
    *(sys.executable, "-m", "semfocus", "train", "even_pairs", "--pattern", "top_k(3)", "--length", "8"),
    *("-q", "--json", "--checkpoint-every", "0"),
    *("-s", "training.num_train=300", "-s", "training.num_held_out=100"),
    *("-s", "model.d_model=16", "-s", "model.num_blocks=2"),
]


def lines_in(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@pytest.mark.kill
@pytest.mark.parametrize(("kills", "epochs"), [(1, 12), pytest.param(10, 80, marks=pytest.mark.slow)])
def test_a_run_killed_at_random_moments_gives_the_same_bits(kills: int, epochs: int, tmp_path: Path) -> None:
    command = [*COMMAND, "--epochs", str(epochs), "--store"]
    whole = json.loads(subprocess.check_output([*command, tmp_path / "whole"]))
    an_epoch = sum(whole["curve"]["train_seconds"][1:]) / epochs
    moments = random.Random(0)
    journal = tmp_path / "parts" / whole["run"] / "journal.jsonl"
    for _ in range(kills):
        before, lines = lines_in(journal), moments.randint(2, 5)
        process = subprocess.Popen([*command, tmp_path / "parts"], stdout=subprocess.DEVNULL)
        # The attempt and one to four epochs, then a part of the next: so often that is no whole run, however fast.
        while lines_in(journal) < before + lines and process.poll() is None:
            time.sleep(0.001)
        time.sleep(moments.uniform(0, an_epoch))
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    parts = json.loads(subprocess.check_output([*command, tmp_path / "parts"]))
    assert parts["attempts"] == kills + 1
    assert parts["curve"]["train_loss"] == whole["curve"]["train_loss"]
    assert result_digest(parts) == result_digest(whole)
    for kind in ("last", "best"):
        stored = [
            load_newest(tmp_path / name / whole["run"] / "checkpoints", kind)[0]
            for name in ("whole", "parts")
        ]
        assert stored[0] is not None
        assert stored[1] is not None
        assert stored[0].epoch == stored[1].epoch
        for name, tensor in stored[0].groups["model"].items():
            assert (tensor == stored[1].groups["model"][name]).all()
