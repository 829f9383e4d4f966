"""Scores times c are query and key weights that start sqrt(c) times larger and learn c times faster: a 2 x 2
factorial.
"""

import math

import pytest
import torch

from semfocus.model import parameter_group
from semfocus.runs.arms import arm_of
from semfocus.studies.selection import read_arm, with_patterns
from semfocus.training import build_model, dataset_of, run
from semfocus.training.loop import batches_of, noise_of, training_step
from semfocus.training.optimiser import build_optimiser, set_learning_rate

FACTOR = 10.0
#: 50 steps; the dropout is the same in both
TRAINING = {"epochs": 5, "num_train": 100, "clip_norm": None, "learning_rate": 0.5}
BOTH = {
    "model": {"initial_scale": {"query_key": math.sqrt(FACTOR)}},
    "training": {"learning_rate_scale": {"query_key": FACTOR}},
}


def pair(tiny_spec, training):
    """The two specs, with two blocks of two heads."""
    sizes = {"num_blocks": 2, "num_heads": 2, "dropout": 0.1}
    sharper = tiny_spec(
        pattern="full", model=sizes | {"inverse_temperature": FACTOR}, training=TRAINING | training
    )
    both = tiny_spec(
        pattern="full", model=sizes | BOTH["model"], training=TRAINING | training | BOTH["training"]
    )
    return sharper, both


def logits_by_step(spec, model):
    """What the model answers before each of its 50 steps and after the last, in evaluation."""
    data = dataset_of(spec).train
    optimiser = build_optimiser(model, spec.training)
    found = []
    for epoch in range(1, spec.training.epochs + 1):
        set_learning_rate(optimiser, spec.training, epoch)
        batches = batches_of(data, spec.training, spec.seed, epoch)
        for index, rows in enumerate(batches):
            with torch.no_grad():
                found.append(model.eval()(data.tokens))
            noise = noise_of(spec.seed, epoch, index, len(batches))
            training_step(model.train(), optimiser, data, None, rows, spec.training, noise)
    with torch.no_grad():
        return torch.stack([*found, model.eval()(data.tokens)])


def trained_apart(tiny_spec, **training):
    """The largest difference of logits at each step, how far they moved, and that of the weights at the end."""
    sharper, both = pair(tiny_spec, training)
    first, second = build_model(sharper).double(), build_model(both).double()
    factor = {"query_key": math.sqrt(FACTOR)}
    weights = {
        name: factor.get(parameter_group(name), 1.0) * value for name, value in first.state_dict().items()
    }
    for name, value in second.state_dict().items():  # the start itself is right to the rounding of float32
        torch.testing.assert_close(value, weights[name], rtol=1e-6, atol=0)
    second.load_state_dict(weights)
    ours, others = logits_by_step(sharper, first), logits_by_step(both, second)
    assert len(ours) == 51
    ends = [
        (value - factor.get(parameter_group(name), 1.0) * first.state_dict()[name]).abs().max()
        for name, value in second.state_dict().items()
    ]
    return (ours - others).abs().amax((1, 2)), (ours[-1] - ours[0]).abs().max(), max(ends)


@pytest.mark.parametrize("training", [{}, {"momentum": 0.5, "learning_rate": 0.1}])
def test_scores_times_c_are_a_larger_start_and_a_faster_rate(tiny_spec, training) -> None:
    """In float64, where only rounding is between them; momentum is linear in the gradient and keeps the identity."""
    apart, moved, ends = trained_apart(tiny_spec, **training)
    assert moved > 0.01
    assert apart.max() < 1e-6
    assert ends < 1e-6


@pytest.mark.parametrize("training", [{"clip_norm": 0.1}, {"weight_decay": 0.01}])
def test_joint_clipping_and_weight_decay_break_the_identity(tiny_spec, training) -> None:
    apart, _, ends = trained_apart(tiny_spec, **training)
    assert apart[0] < 1e-6
    assert apart[-1] > 1e-4
    assert ends > 1e-4


def test_the_start_scales_biases_too(tiny_spec) -> None:
    plain, both = (build_model(spec).state_dict() for spec in (tiny_spec(), tiny_spec(**BOTH)))
    for name in ("query.weight", "query.bias", "key.weight", "key.bias"):
        place = f"blocks.0.attention.{name}"
        torch.testing.assert_close(both[place], math.sqrt(FACTOR) * plain[place])
        assert plain[place].abs().max() > 0
    assert torch.equal(both["blocks.0.attention.value.bias"], plain["blocks.0.attention.value.bias"])


def test_the_four_arms_of_the_factorial_are_written_read_and_run(store, tiny_spec) -> None:
    arms = ["full", "full q/k start x3.1623", "full q/k rate x10", "full q/k start x3.1623 q/k rate x10"]
    specs = [with_patterns([tiny_spec(training={"epochs": 1})], [arm])[0] for arm in arms]
    labels = [arm_of(spec.model_dump(mode="json")).label for spec in specs]
    assert labels == [arm.replace(" x", " \u00d7") for arm in arms]
    assert [read_arm(label) for label in labels] == [read_arm(arm) for arm in arms]
    assert len({run(spec, store)["weights"] for spec in specs}) == 4
