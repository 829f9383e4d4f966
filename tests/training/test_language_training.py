import math
from pathlib import Path
from typing import Any

import pytest
import torch

from semfocus.runs import RunSpec, open_store, result_digest
from semfocus.runs.checkpoints import load_newest
from semfocus.tasks import TextTask
from semfocus.training import EpochResult, Observer, build_model, dataset_of, evaluate, run
from semfocus.training.trained_run import load_run

TINY: dict[str, Any] = {
    "model": {"d_model": 8, "d_mlp": 8, "num_blocks": 2},
    "training": {"length": 12, "num_train": 60, "num_held_out": 20, "epochs": 3, "learning_rate": 0.01},
}


@pytest.fixture
def text(tmp_path: Path) -> str:
    file = tmp_path / "text.txt"
    file.write_text("".join(f"the {number} is {number * number % 17}\n" for number in range(300)))
    return f"text:{file}"


def test_loss_accuracy_and_perplexity_are_those_of_a_plain_loop(text: str) -> None:
    spec = RunSpec(task=text, pattern="top_k(3)", **TINY)
    model, data = build_model(spec).eval(), dataset_of(spec)
    losses, hits = [], []
    for row, next_tokens in zip(data.held_out.tokens, data.held_out.labels, strict=True):
        for place in range(len(row)):  # every prefix on its own: no mask needed
            with torch.no_grad():
                logits = model(row[None, : place + 1])[0, -1]
            losses.append(-float(logits.log_softmax(-1)[next_tokens[place]]))
            hits.append(int(logits.argmax()) == int(next_tokens[place]))
    found = evaluate(model, data.held_out, spec.seed, 0)
    mean = sum(losses) / len(losses)
    assert found.loss == pytest.approx(mean, rel=1e-5)
    assert found.accuracy == pytest.approx(sum(hits) / len(hits))
    assert math.exp(found.loss) == pytest.approx(
        math.prod(math.exp(each / len(losses)) for each in losses), rel=1e-4
    )
    counts = data.held_out.labels.flatten().bincount()
    assert found.constant_guess == pytest.approx(int(counts.max()) / int(counts.sum()))


def test_small_batches_of_logits_change_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = RunSpec(task=text, **TINY)
    model, data = build_model(spec), dataset_of(spec)
    whole = evaluate(model, data.held_out, spec.seed, 0)
    monkeypatch.setattr("semfocus.training.evaluation._LOGITS_AT_ONCE", 1)
    assert evaluate(model, data.held_out, spec.seed, 0).loss == pytest.approx(whole.loss, rel=1e-6)


class StopAfter(Observer):
    def __init__(self, epoch: int) -> None:
        self.epoch = epoch

    def epoch_ended(self, result: EpochResult) -> None:
        if result.epoch == self.epoch:
            raise KeyboardInterrupt


@pytest.mark.parametrize("pattern", ["full", "random(3)"])
def test_a_run_that_was_stopped_ends_as_one_that_was_not(text: str, tmp_path: Path, pattern: str) -> None:
    spec = RunSpec(task=text, pattern=pattern, **TINY)
    straight = run(spec, open_store(tmp_path / "straight"))
    stopped = open_store(tmp_path / "stopped")
    for epoch in (0, 2):
        with pytest.raises(KeyboardInterrupt):
            run(spec, stopped, observers=[StopAfter(epoch)], checkpoint_seconds=0)
    record = run(spec, stopped)
    assert record["attempts"] == 3
    assert record["weights"] == straight["weights"]
    assert result_digest(record) == result_digest(straight)


# A small step learns on every machine (a loss of 3.1 from 5.5), a huge one does so on none (above 30 at once):
# between the two it is rounding that decides which epoch is the best.
@pytest.mark.parametrize(("learning_rate", "best_epoch"), [(0.01, 3), (0.5, 0)], ids=["learns", "diverges"])
def test_the_record_speaks_of_perplexity_and_the_best_epoch_is_that_of_the_lowest_loss(
    text: str, tmp_path: Path, learning_rate: float, best_epoch: int
) -> None:
    spec = RunSpec(task=text, **TINY | {"training": {**TINY["training"], "learning_rate": learning_rate}})
    store = open_store(tmp_path / "runs")
    record = run(spec, store, checkpoint_seconds=0)
    summary, losses = record["summary"], record["curve"]["held_out_loss"]
    assert summary["last_held_out_perplexity"] == math.exp(losses[-1])
    assert summary["best_held_out_perplexity"] == math.exp(min(losses))
    best, _ = load_newest(store.directory(spec).checkpoints, "best")
    assert best is not None
    assert best.epoch == summary["best_epoch"] == losses.index(min(losses)) == best_epoch
    assert summary["target_accuracy"] is None
    trained = load_run(store.directory(spec))
    data = dataset_of(spec)
    assert evaluate(trained.model, data.held_out, spec.seed, 3).loss == losses[-1]
    if learning_rate == 0.01:
        assert trained.on_file(Path(text.removeprefix("text:"))).loss < math.log(256)
    assert trained.at_length(30, 10).loss > 0


def test_a_run_with_learned_pieces_knows_its_tokenizer(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sentencepiece")
    training = {**TINY["training"], "tokenizer": "bpe:300", "num_train": 20, "epochs": 1}
    spec = RunSpec(task=text, model=TINY["model"], training=training)
    store = open_store(tmp_path / "runs")
    with pytest.raises(KeyboardInterrupt):
        run(spec, store, observers=[StopAfter(0)])
    task = spec.task_value
    assert isinstance(task, TextTask)
    with monkeypatch.context() as patched:
        patched.setattr(type(task.tokenizer), "digest", "another")
        with pytest.raises(ValueError, match="another tokenizer"):
            run(spec, store)
    record = run(spec, store)
    assert record["environment"]["tokenizer"] == task.tokenizer.digest
    assert load_run(store.directory(spec)).model.config.num_classes == 300


def test_a_language_model_can_be_probed_and_its_attention_drawn(text: str, tmp_path: Path) -> None:
    from semfocus.measurements.maps import attention_maps
    from semfocus.probes import probe_rows

    spec = RunSpec(task=text, pattern="top_k(3)", **TINY)
    store = open_store(tmp_path / "runs")
    run(spec, store)
    trained, data = load_run(store.directory(spec)), dataset_of(spec).held_out
    quantities = ["dispersion", "num_kept", "mean_gradient_norm_readout"]
    rows = probe_rows(trained.model, data.tokens[:4], labels=data.labels[:4], quantities=quantities)
    found = {row["quantity"]: row for row in rows if row["layer"] in (None, 0)}
    assert found["dispersion"]["num"] + found["dispersion"]["num_missing"] > 0
    assert found["num_kept"]["mean"] == pytest.approx((1 + 2 + 3 * 10) / 12), "fewer where fewer are allowed"
    logits = trained.model.eval()(data.tokens[:4])
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), data.labels[:4].flatten()).backward()
    square = sum(
        float(each.grad.double().square().sum())
        for name, each in trained.model.named_parameters()
        if name.startswith("readout")
    )
    assert found["mean_gradient_norm_readout"]["mean"] == pytest.approx(math.sqrt(square), rel=1e-4)
    maps = attention_maps(trained)
    assert "".join(maps["symbols"]) == spec.task_value.text_of(data.tokens[0])
    assert maps["label"] == spec.task_value.text_of(data.labels[0, -1:])
