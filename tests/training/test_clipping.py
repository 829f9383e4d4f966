"""Gradients clipped together or group by group."""

import pytest
import torch

from semfocus.model import parameter_group
from semfocus.runs.arms import arm_of
from semfocus.settings import GroupFactors
from semfocus.training import build_model, dataset_of, run
from semfocus.training.loop import batches_of
from semfocus.training.optimiser import build_optimiser, clip_gradients

LIMIT = 0.05


def with_gradients(spec):
    """A model and its optimiser after one backward pass, and the norm of the gradient of each group."""
    model, data = build_model(spec), dataset_of(spec).train
    optimiser = build_optimiser(model, spec.training)
    torch.nn.functional.cross_entropy(model(data.tokens), data.labels).backward()
    return model, optimiser, norms_of(model)


def norms_of(model):
    squares = dict.fromkeys(GroupFactors.model_fields, 0.0)
    for name, parameter in model.named_parameters():
        squares[parameter_group(name)] += float(parameter.grad.square().sum())
    return {group: square**0.5 for group, square in squares.items()}


def test_each_group_is_clipped_by_itself(tiny_spec) -> None:
    spec = tiny_spec(training={"clip_norm": LIMIT, "clip_per_group": True}, model={"dropout": 0.0})
    model, optimiser, before = with_gradients(spec)
    assert min(before.values()) < LIMIT < max(before.values())  # one is left as it is, another is not
    clipping = clip_gradients(optimiser, spec.training)
    assert clipping.was_needed
    assert float(clipping.norm) == pytest.approx(sum(norm**2 for norm in before.values()) ** 0.5, rel=1e-5)
    expected = {group: min(norm, LIMIT) for group, norm in before.items()}
    assert norms_of(model) == pytest.approx(expected, rel=1e-4)


def test_together_all_groups_shrink_alike(tiny_spec) -> None:
    spec = tiny_spec(training={"clip_norm": LIMIT}, model={"dropout": 0.0})
    model, optimiser, before = with_gradients(spec)
    clipping = clip_gradients(optimiser, spec.training)
    shrink = LIMIT / float(clipping.norm)
    assert shrink < 0.9
    assert norms_of(model) == pytest.approx(
        {group: shrink * norm for group, norm in before.items()}, rel=1e-4
    )


@pytest.mark.parametrize("per_group", [False, True])
def test_a_limit_that_nothing_reaches_changes_nothing(tiny_spec, per_group) -> None:
    spec = tiny_spec(training={"clip_norm": 1e3, "clip_per_group": per_group}, model={"dropout": 0.0})
    model, optimiser, before = with_gradients(spec)
    assert not clip_gradients(optimiser, spec.training).was_needed
    assert norms_of(model) == before


def test_a_step_counts_as_clipped_if_any_group_was(store, tiny_spec) -> None:
    """By hand: one epoch of SGD in which each group has its own limit."""
    spec = tiny_spec(
        pattern="full",
        model={"dropout": 0.0},
        training={"epochs": 1, "learning_rate": 0.5, "clip_norm": LIMIT, "clip_per_group": True},
    )
    curve = run(spec, store)["curve"]
    model, data = build_model(spec), dataset_of(spec).train
    joint, clipped = [], []
    for rows in batches_of(data, spec.training, spec.seed, 1):
        model.zero_grad()
        torch.nn.functional.cross_entropy(model(data.tokens[rows]), data.labels[rows]).backward()
        norms = norms_of(model)
        joint.append(sum(norm**2 for norm in norms.values()) ** 0.5)
        clipped.append(max(norms.values()) > LIMIT)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter -= 0.5 * min(1.0, LIMIT / norms[parameter_group(name)]) * parameter.grad
    assert curve["gradient_norm"] == [None, pytest.approx(sum(joint) / len(joint), rel=1e-3)]
    assert curve["clipped_share"] == [None, sum(clipped) / len(clipped)]
    assert curve["clipped_share"][1] > 0


def test_clipping_is_a_setting_of_the_comparison_and_not_of_the_arm(tiny_spec) -> None:
    specs = [
        tiny_spec(pattern="full", training=each)
        for each in ({"clip_norm": None}, {"clip_norm": 5.0}, {"clip_per_group": True})
    ]
    assert {arm_of(spec.model_dump(mode="json")).label for spec in specs} == {"full"}
    assert len({spec.digest for spec in specs}) == 3
