import math

import pytest
import torch

from semfocus.randomness import stream
from semfocus.runs.checkpoints import load_newest
from semfocus.runs.outcome import summarise
from semfocus.tasks import Samples
from semfocus.training import EpochResult, Observer, build_model, dataset_of, evaluate, run
from semfocus.training.evaluation import sample_losses
from semfocus.training.loop import batches_of, noise_of, reached_stop
from semfocus.training.optimiser import build_optimiser, set_learning_rate


class Watcher(Observer):
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.results: list[EpochResult] = []

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        self.heard.append(f"start {first_epoch}-{last_epoch}")

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        self.heard.append(f"batch {epoch}:{batch}/{num_batches}")

    def epoch_ended(self, result: EpochResult) -> None:
        self.heard.append(f"epoch {result.epoch}")
        self.results.append(result)

    def run_ended(self) -> None:
        self.heard.append("end")


def test_observers_hear_everything_in_order(store, tiny_spec) -> None:
    watcher = Watcher()
    run(tiny_spec(training={"epochs": 1, "num_train": 30}), store, observers=[watcher])
    assert watcher.heard == [
        "start 0-1",
        "epoch 0",
        "batch 1:1/3",
        "batch 1:2/3",
        "batch 1:3/3",
        "epoch 1",
        "end",
    ]


def test_epoch_zero_is_the_untrained_model(store, tiny_spec) -> None:
    spec = tiny_spec()
    record = run(spec, store)
    untrained = evaluate(build_model(spec), dataset_of(spec).train, spec.seed, 0)
    assert record["curve"]["train_loss"][0] == untrained.loss
    assert record["curve"]["train_accuracy"][0] == untrained.accuracy


def test_one_epoch_equals_the_algorithm_written_out(store, tiny_spec) -> None:
    """Plain SGD with clipping on the batches of the run's own order, no dropout."""
    spec = tiny_spec(
        pattern="full", model={"dropout": 0.0}, training={"epochs": 2, "learning_rate": 0.5, "clip_norm": 0.2}
    )
    run(spec, store)
    trained, _ = load_newest(store.directory(spec).checkpoints, "last")
    assert trained is not None

    model, data = build_model(spec), dataset_of(spec).train
    for epoch in (1, 2):
        order = torch.randperm(60, generator=stream(spec.seed, "order", epoch))
        for start in range(0, 60, 10):
            rows = order[start : start + 10]
            loss = torch.nn.functional.cross_entropy(model(data.tokens[rows]), data.labels[rows])
            gradients = torch.autograd.grad(loss, list(model.parameters()))
            norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
            shrink = min(1.0, 0.2 / norm)
            with torch.no_grad():
                for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                    parameter -= 0.5 * 0.9995 ** (epoch - 1) * shrink * gradient
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(trained.groups["model"][name], parameter.detach(), rtol=1e-4, atol=1e-5)


def test_learning_rates_decay_once_an_epoch_and_scale_by_group(tiny_spec) -> None:
    spec = tiny_spec(
        training={
            "learning_rate": 0.5,
            "learning_rate_decay": 0.9,
            "learning_rate_scale": {"query_key": 10.0, "mlp": 0.0},
        }
    )
    model = build_model(spec)
    optimiser = build_optimiser(model, spec.training)
    assert sum(len(group["params"]) for group in optimiser.param_groups) == len(list(model.parameters()))
    rates = [set_learning_rate(optimiser, spec.training, epoch) for epoch in (1, 2, 3)]
    assert rates == pytest.approx([0.5, 0.45, 0.405])
    by_parameter = {
        id(parameter): group["lr"] for group in optimiser.param_groups for parameter in group["params"]
    }
    named = {name: by_parameter[id(parameter)] for name, parameter in model.named_parameters()}
    assert named["blocks.0.attention.query.weight"] == pytest.approx(4.05)
    assert named["blocks.0.attention.key.bias"] == pytest.approx(4.05)
    assert named["blocks.0.attention.value.weight"] == pytest.approx(0.405)
    assert named["blocks.0.mlp.expand.weight"] == 0.0


def test_stopping_at_a_target_is_possible(store, tiny_spec) -> None:
    record = run(tiny_spec(training={"stop_at": 0.01, "epochs": 50}), store)
    assert record["curve"]["epoch"] == [0]


def test_a_target_is_reached_when_it_is_met_exactly(tiny_spec) -> None:
    training = tiny_spec(training={"stop_at": 0.5}).training
    assert reached_stop(training, 0.5)
    assert not reached_stop(training, 0.5 - 1e-9)
    assert not reached_stop(tiny_spec().training, 1.0)


def test_every_step_of_every_epoch_has_noise_of_its_own() -> None:
    seeds = [noise_of(3, epoch, index, 5).initial_seed() for epoch in (1, 2, 3) for index in range(5)]
    assert len(set(seeds)) == 15
    assert seeds == [stream(3, "noise", step).initial_seed() for step in range(15)]


def test_dropped_samples_leave_whole_batches(store, tiny_spec) -> None:
    watcher = Watcher()
    run(tiny_spec(training={"epochs": 1, "drop_samples_per_epoch": 11}), store, observers=[watcher])
    assert watcher.heard.count("batch 1:5/5") == 1


@pytest.mark.parametrize("look", [evaluate, sample_losses])
def test_evaluation_leaves_every_module_in_its_mode_whatever_is_raised(look, tiny_spec) -> None:
    spec = tiny_spec()
    model, data = build_model(spec), dataset_of(spec).train
    model.train()
    model.blocks[0].mlp.eval()
    before = [module.training for module in model.modules()]
    look(model, data, 0, 0)
    assert [module.training for module in model.modules()] == before
    too_many_classes = Samples(data.tokens, data.labels + 7, data.real)
    with pytest.raises(IndexError) as caught:  # held, and with it the frames of what was interrupted
        look(model, too_many_classes, 0, 0)
    assert [module.training for module in model.modules()] == before, str(caught.value)


def test_evaluation_drops_nothing(tiny_spec) -> None:
    spec = tiny_spec(pattern="full", model={"dropout": 0.5})
    model, data = build_model(spec), dataset_of(spec).train
    found = evaluate(model.train(), data, 0, 0)
    with torch.no_grad():
        expected = torch.nn.functional.cross_entropy(model.eval()(data.tokens), data.labels)
    assert found.loss == pytest.approx(float(expected), rel=1e-5)


def test_evaluation_does_not_depend_on_how_the_set_is_cut(monkeypatch: pytest.MonkeyPatch, tiny_spec) -> None:
    spec = tiny_spec()
    model, data = build_model(spec), dataset_of(spec).train
    whole = evaluate(model, data, 0, 0)
    monkeypatch.setattr("semfocus.training.evaluation._TOKENS_AT_ONCE", 7 * 6)
    pieces = evaluate(model, data, 0, 0)
    assert pieces.accuracy == whole.accuracy
    assert pieces.loss == pytest.approx(whole.loss, rel=1e-5)
    assert model.training


class Poison(Observer):
    """Makes a weight infinite after an epoch, as a diverging run would."""

    def __init__(self) -> None:
        self.model: torch.nn.Module | None = None

    def epoch_ended(self, result: EpochResult) -> None:
        if result.epoch == 2:
            assert self.model is not None
            with torch.no_grad():
                self.model.readout.bias[0] = torch.inf


def test_divergence_keeps_the_record_and_the_last_good_checkpoint(
    store, tiny_spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    import semfocus.training.runner as runner

    poison = Poison()
    build = runner.build_model

    def remember(spec):
        poison.model = build(spec)
        return poison.model

    monkeypatch.setattr(runner, "build_model", remember)
    spec = tiny_spec(training={"epochs": 6})
    record = run(spec, store, observers=[poison], checkpoint_seconds=1000)
    assert record["state"] == "diverged"
    assert record["reason"] == "the loss is not finite in epoch 3, batch 1"
    assert record["curve"]["epoch"] == [0, 1, 2]
    good, problems = load_newest(store.directory(spec).checkpoints, "last")
    assert good is not None
    assert (good.epoch, problems) == (2, [])
    assert all(tensor.isfinite().all() for tensor in good.groups["model"].values())
    assert run(spec, store) == record, "a diverged run is a result: it is not tried again"


def test_a_learning_rate_that_is_far_too_large_diverges(store, tiny_spec) -> None:
    spec = tiny_spec(training={"learning_rate": 1e30, "clip_norm": None, "epochs": 3})
    record = run(spec, store)
    assert record["state"] == "diverged"
    assert "not finite" in record["reason"]


def test_summary_counts_a_run_that_never_got_there_as_censored() -> None:
    row = {"train_loss": 0.0, "held_out_loss": 0.0, "train_seconds": 1.0, "evaluation_seconds": 1.0}
    accuracies = [(0, 0.5, 0.5), (1, 0.9, 0.8), (2, 0.96, 0.7), (3, 0.94, 0.6)]
    rows = [row | {"epoch": e, "train_accuracy": t, "held_out_accuracy": h} for e, t, h in accuracies]
    summary = summarise(rows)
    assert (summary["epochs_to_target"], summary["seconds_to_target"], summary["seconds"]) == (2, 3.0, 4.0)
    assert (summary["last_held_out_accuracy"], summary["best_held_out_accuracy"]) == (0.6, 0.8)
    assert summary["best_epoch"] == 1
    assert summarise(rows[:2])["epochs_to_target"] is None


def test_the_curve_says_how_large_gradients_were_and_how_often_they_were_clipped(store, tiny_spec) -> None:
    """By hand: the norms of the steps written out, before clipping."""
    limit = 0.2
    spec = tiny_spec(
        pattern="full",
        model={"dropout": 0.0},
        training={"epochs": 1, "learning_rate": 0.5, "clip_norm": limit},
    )
    curve = run(spec, store)["curve"]
    model, data = build_model(spec), dataset_of(spec).train
    norms = []
    for rows in batches_of(data, spec.training, spec.seed, 1):
        loss = torch.nn.functional.cross_entropy(model(data.tokens[rows]), data.labels[rows])
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        norm = float(sum(gradient.square().sum() for gradient in gradients).sqrt())
        norms.append(norm)
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter -= 0.5 * min(1.0, limit / norm) * gradient
    assert curve["gradient_norm"] == [None, pytest.approx(sum(norms) / len(norms), rel=1e-3)]
    assert curve["clipped_share"] == [None, sum(norm > limit for norm in norms) / len(norms)]
    assert curve["clipped_share"][1] > 0


def test_nothing_is_clipped_without_a_limit(store, tiny_spec) -> None:
    curve = run(tiny_spec(training={"epochs": 2, "clip_norm": None}), store)["curve"]
    assert curve["clipped_share"] == [None, 0.0, 0.0]
    assert all(norm > 0 for norm in curve["gradient_norm"][1:])
