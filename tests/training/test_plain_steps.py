"""An arm that holds for the first steps only, or only from a step on, and what is recorded between epochs."""

import pytest
import torch

from semfocus.model.self_attention import SelfAttention
from semfocus.runs import result_digest
from semfocus.runs.arms import CONTROLS
from semfocus.settings import ModelSettings
from semfocus.training import Observer, build_model, dataset_of, evaluate, run
from semfocus.training.loop import batches_of, noise_of, training_step
from semfocus.training.observers import Attempt
from semfocus.training.optimiser import build_optimiser, set_learning_rate
from semfocus.training.replay import model_at, replayed
from semfocus.training.trained_run import load_run
from semfocus.training.twin_training import train_twins

#: six steps per epoch
SIZES = {"num_blocks": 2, "dropout": 0.1}
ARMS = {
    "top_k": {"pattern": "top_k(2)", "model": SIZES},
    "sharper": {"pattern": "full", "model": SIZES | {"inverse_temperature": 10.0}},
    "matched": {"pattern": "full", "model": SIZES | {"match_entropy": "top_k(2)"}},
    "oracle": {"pattern": "full", "model": SIZES | {"selection": "relevant"}},
    "initial": {"pattern": "top_k(2)", "model": SIZES | {"selection": "initial"}},
    "noisy": {"pattern": "top_k(2)", "model": SIZES | {"selection_noise": 1.0}},
    "clipped": {"pattern": "full", "model": SIZES | {"score_clip": 0.1, "score_gradient": 2.0}},
    "faster": {"pattern": "full", "model": SIZES, "training": {"learning_rate_scale": {"query_key": 10.0}}},
}
PLAIN = {"pattern": "full", "model": SIZES}


def with_training(arm, **training):
    return {**arm, "training": arm.get("training", {}) | training}


def written_out(tiny_spec, arm, plain_steps, epochs=3):
    """Weights and training losses by two models, of which the one in force at a step takes it and the other
    copies it.
    """
    own, plain = (
        tiny_spec(**with_training(arm, epochs=epochs)),
        tiny_spec(**with_training(PLAIN, epochs=epochs)),
    )
    data, losses = dataset_of(own).train, []
    models = [build_model(own), build_model(plain)]
    optimisers = [
        build_optimiser(each, spec.training) for each, spec in zip(models, (own, plain), strict=True)
    ]
    for epoch in range(epochs + 1):
        batches = batches_of(data, own.training, own.seed, epoch) if epoch else ()
        for index, rows in enumerate(batches):
            step = (epoch - 1) * len(batches) + index
            which = int(step in plain_steps)
            spec = (own, plain)[which]
            set_learning_rate(optimisers[which], spec.training, epoch)
            noise = noise_of(own.seed, epoch, index, len(batches))
            training_step(models[which].train(), optimisers[which], data, None, rows, spec.training, noise)
            models[1 - which].load_state_dict(models[which].state_dict())
        which = int(epoch * 6 in plain_steps)
        losses.append(evaluate(models[which], data, own.seed, epoch).loss)
    return models[0].state_dict(), losses


@pytest.mark.parametrize("arm", ARMS.values(), ids=ARMS.keys())
@pytest.mark.parametrize(
    ("field", "plain_steps"), [("plain_after", range(8, 99)), ("plain_before", range(8))]
)
def test_an_arm_holds_for_its_steps_alone(store, tiny_spec, arm, field, plain_steps) -> None:
    spec = tiny_spec(**with_training(arm, epochs=3, **{field: 8}))
    record = run(spec, store)
    weights, losses = written_out(tiny_spec, arm, plain_steps)
    trained = load_run(store.directory(spec)).model
    for name, value in trained.state_dict().items():
        torch.testing.assert_close(value, weights[name], rtol=0, atol=0)
    assert record["curve"]["train_loss"] == losses
    whole = run(tiny_spec(**with_training(arm, epochs=3)), store)
    assert whole["weights"] != record["weights"]


def test_an_arm_that_holds_for_longer_than_the_run_is_the_arm(store, tiny_spec) -> None:
    weights = {
        name: run(tiny_spec(**with_training(ARMS["top_k"], **more)), store)["weights"]
        for name, more in {"own": {}, "first": {"plain_after": 999}, "late": {"plain_before": 999}}.items()
    }
    assert weights["own"] == weights["first"]
    assert weights["late"] == run(tiny_spec(**PLAIN), store)["weights"] != weights["own"]


def patterns_of(model):
    return {str(each.config.pattern) for each in model.modules() if isinstance(each, SelfAttention)}


def test_what_is_in_force_after_an_epoch_is_so_wherever_the_model_is_brought_back(store, tiny_spec) -> None:
    spec = tiny_spec(**with_training(ARMS["top_k"], epochs=3, plain_after=12))
    record = run(spec, store)
    directory = store.directory(spec)
    own, plain = {"top_k(2)"}, {"full"}
    assert patterns_of(load_run(directory).model) == plain
    for epoch, wanted in enumerate((own, own, plain, plain)):  # after 0, 6, 12 and 18 steps
        found = model_at(directory, epoch)
        assert patterns_of(found.model) == wanted
        assert found.problems == ()
        loss = evaluate(found.model, dataset_of(spec).train, spec.seed, epoch).loss
        assert loss == record["curve"]["train_loss"][epoch]
    assert [patterns_of(each.model) for each in replayed(directory, [1])] == [own]  # from its checkpoint
    assert [patterns_of(each.model) for each in replayed(directory, [3])] == [plain]


def test_twins_change_at_the_same_step(store, tiny_spec) -> None:
    spec = tiny_spec(**with_training(ARMS["sharper"], epochs=3, plain_before=8))
    record = run(spec, store)
    _, first, _ = train_twins(spec, 0, torch.device("cpu"))
    last = load_run(store.directory(spec)).model.state_dict()
    assert all(torch.equal(value, last[name]) for name, value in first.model.state_dict().items())
    assert record["state"] == "done"


def test_plain_leaves_no_control_at_work() -> None:
    """Every control of a model that a label knows, but the start, which is over when the first step is taken."""
    known = {key.split(".", 1)[1] for key in CONTROLS if key.startswith("model.")} - {
        "initial_scale.query_key"
    }
    changed = ModelSettings(
        inverse_temperature=3.0,
        score_gradient=2.0,
        score_clip=1.0,
        match_entropy="top_k(5)",
        match_dispersion="full",
        match_keeps_gradient=True,
        selection="initial",
        selection_noise=1.0,
    )
    assert changed.without_controls() == ModelSettings()
    assert {name for name in known if getattr(changed, name) == getattr(ModelSettings(), name)} == set()


class Accuracies(Observer):
    """The accuracy after every step, evaluated here."""

    def __init__(self) -> None:
        self.seen: dict[int, float] = {}

    def prepared(self, attempt: Attempt) -> None:
        self.attempt = attempt

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        step = (epoch - 1) * num_batches + batch
        self.seen[step] = evaluate(self.attempt.model, self.attempt.data.train, 0, 0).accuracy


def test_the_training_accuracy_between_epochs_is_recorded(store, tiny_spec) -> None:
    plain = run(tiny_spec(), store)
    assert "steps" not in plain
    assert plain.steps == {}
    watcher = Accuracies()
    spec = tiny_spec(training={"evaluate_every": 4})
    record = run(spec, store, observers=[watcher])
    assert record.steps["step"] == [4, 8, 12, 16, 20, 24]
    assert record.steps["train_accuracy"] == [watcher.seen[step] for step in record.steps["step"]]
    assert store.directory(spec).record()["steps"] == record.steps
    assert record["curve"]["train_accuracy"][2] == record.steps["train_accuracy"][2]  # after 12 steps
    assert record["weights"] == plain["weights"]  # looking changes nothing
    without = {key: value for key, value in record.items() if key != "steps"}
    assert result_digest(without) != result_digest(record)


def test_patterns_that_draw_keys_are_evaluated_with_numbers_of_their_own(store, tiny_spec) -> None:
    changes = {"pattern": "random(2)", "training": {"evaluate_every": 1}}
    plain, watched = (run(tiny_spec(**each), store) for each in ({"pattern": "random(2)"}, changes))
    assert watched["weights"] == plain["weights"]
    assert watched["curve"]["train_loss"] == plain["curve"]["train_loss"]
    assert len(watched.steps["step"]) == 24


def test_a_run_that_has_not_ended_has_the_steps_of_its_epochs(store, tiny_spec) -> None:
    class Stop(Observer):
        def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
            if (epoch, batch) == (3, 5):
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tiny_spec(training={"evaluate_every": 4}), store, observers=[Stop()])
    (record,) = store.records()
    assert record.steps["step"] == [4, 8, 12]
