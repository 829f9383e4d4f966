from pathlib import Path
from typing import Any

import pytest
import torch

from semfocus.analysis.summaries import analyse
from semfocus.runs import RunSpec, open_store, result_digest
from semfocus.training import EpochResult, Observer, build_model, run
from semfocus.training.replay import model_at
from semfocus.training.trained_run import load_run

MODEL = {"d_model": 8, "d_mlp": 8, "num_blocks": 2}
TASK: dict[str, Any] = {
    "task": "parity",
    "model": MODEL,
    "training": {"length": 6, "num_train": 50, "num_held_out": 20, "epochs": 2},
}


def after(pattern: str, folder: Path) -> dict[str, Any]:
    file = folder / "text.txt"
    file.write_text("".join(f"the {number} is {number * number % 17}\n" for number in range(300)))
    training = {"length": 12, "num_train": 40, "num_held_out": 10, "epochs": 2, "learning_rate": 0.01}
    return {"pretraining": {"task": f"text:{file}", "pattern": pattern, "training": training}}


class StopAfter(Observer):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def epoch_ended(self, result: EpochResult) -> None:
        if result.epoch == self.epoch:
            raise KeyboardInterrupt


def test_a_run_starts_from_the_blocks_of_the_earlier_one(tmp_path: Path) -> None:
    store = open_store(tmp_path / "runs")
    spec = RunSpec(**TASK, **after("top_k(3)", tmp_path))
    assert spec.pretraining_spec is not None
    record = run(spec, store)
    assert len(store.records()) == 2, "the earlier run is a run like any other"
    earlier = load_run(store.directory(spec.pretraining_spec)).model.state_dict()
    start, new = model_at(store.directory(spec), 0).model.state_dict(), build_model(spec).state_dict()
    for name, tensor in start.items():
        expected = earlier[name] if name.startswith("blocks.") else new[name]
        assert torch.equal(tensor, expected), name
    assert not torch.equal(start["blocks.0.mlp.expand.weight"], new["blocks.0.mlp.expand.weight"])
    scratch = run(RunSpec(**TASK), store)
    assert scratch["curve"]["train_loss"][0] != record["curve"]["train_loss"][0]


def test_the_result_does_not_depend_on_whether_the_earlier_run_was_there(tmp_path: Path) -> None:
    spec = RunSpec(**TASK, **after("full", tmp_path))
    straight = run(spec, open_store(tmp_path / "straight"))
    store = open_store(tmp_path / "parts")
    assert spec.pretraining_spec is not None
    run(spec.pretraining_spec, store)
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[StopAfter(1)], checkpoint_seconds=0)
    assert result_digest(run(spec, store)) == result_digest(straight)


def test_what_was_learned_before_is_an_arm_of_the_comparison(tmp_path: Path) -> None:
    store = open_store(tmp_path / "runs")
    specs = [RunSpec(**TASK, **start) for start in ({}, after("full", tmp_path), after("top_k(3)", tmp_path))]
    for spec in specs:
        run(spec, store)
    by_task = {summary.comparison.task: summary for summary in analyse(store.records())}
    groups = by_task["parity"].comparison.groups
    assert groups == {
        "full": "baseline",
        "full after full": "pre-trained",
        "full after top_k(3)": "pre-trained",
    }
    assert len(by_task) == 2
    longer = after("full", tmp_path)
    longer["pretraining"]["training"]["epochs"] = 1
    run(RunSpec(**TASK, **longer), store)
    arms = next(each for each in analyse(store.records()) if each.comparison.task == "parity").arms
    assert len(arms) == 4, "another pre-training is another arm"


def test_an_earlier_run_that_diverged_is_no_start(tmp_path: Path) -> None:
    start = after("full", tmp_path)
    start["pretraining"]["training"] |= {"optimiser": "sgd", "learning_rate": 1e30, "clip_norm": None}
    with pytest.raises(ValueError, match="pre-training run"):
        run(RunSpec(**TASK, **start), open_store(tmp_path / "runs"))
