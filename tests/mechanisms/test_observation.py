"""Capturing what the attention of a model computes."""

import pytest
import torch
from torch import nn

from semfocus.mechanisms import Banded, ObservableAttention, TopK, attention, capture, observation
from tests.mechanisms.cases import random_mask, seeded


class Layer(ObservableAttention):
    def __init__(self, pattern, **options):
        super().__init__()
        self.projections = nn.Linear(4, 12)
        self.pattern = pattern
        self.options = options

    def arguments(self, inputs):
        return self.projections(inputs).chunk(3, dim=-1)

    def forward(self, inputs):
        return self.attend(
            inputs, *self.arguments(inputs), self.pattern, implementation="reference", **self.options
        )


@pytest.fixture
def model():
    torch.manual_seed(0)
    return nn.Sequential(Layer(TopK(2)), nn.ReLU(), Layer(Banded(3), causal=True))


@pytest.fixture
def tokens():
    return torch.randn(2, 5, 4, generator=seeded(1))


def attentions(model):
    return [module for module in model.modules() if isinstance(module, ObservableAttention)]


def test_one_trace_per_call_in_order_with_layer_and_name(model, tokens):
    with capture(model) as traces:
        model(tokens)
        model(tokens)
    assert [(each.layer, each.name) for each in traces] == [(0, "0"), (1, "2"), (0, "0"), (1, "2")]


def test_a_trace_holds_what_came_in_and_what_return_info_says(model, tokens):
    with capture(model) as traces:
        model(tokens)
    inputs = [tokens, model[1](model[0](tokens))]
    for seen, layer, came_in in zip(traces, (model[0], model[2]), inputs, strict=True):
        _, info = attention(*layer.arguments(came_in), layer.pattern, **layer.options, return_info=True)
        assert torch.equal(seen.inputs, came_in)
        assert torch.equal(seen.scores, info.scores)
        assert torch.equal(seen.kept, info.kept)
        assert torch.equal(seen.weights, info.weights)


def test_traces_are_detached(model, tokens):
    with capture(model) as traces:
        model(tokens.requires_grad_())
    for seen in traces:
        assert not any(part.requires_grad for part in (seen.inputs, seen.scores, seen.kept, seen.weights))


def output_and_gradients(model, tokens):
    output = model(tokens)
    return [output, *torch.autograd.grad(output.sum(), list(model.parameters()))]


def test_outputs_and_gradients_are_the_same_while_captured(model, tokens):
    alone = output_and_gradients(model, tokens)
    with capture(model) as traces:
        watched = output_and_gradients(model, tokens)
    assert len(traces) == 2
    for one, other in zip(alone, watched, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    "options",
    [
        {"mask": random_mask(5, 5, seed=3)},
        {"causal": True},
        {"scale": 3.0},
        {"dropout": 0.5},
    ],
    ids=lambda options: next(iter(options)),
)
def test_every_option_means_the_same_while_captured(options, tokens):
    layer, plain = Layer(TopK(2), **options), Layer(TopK(2))
    plain.load_state_dict(layer.state_dict())
    outputs = []
    for each in (layer, plain):
        each.options["generator"] = seeded(5)
        outputs.append(each(tokens))
    assert not torch.equal(*outputs), "the option does nothing here"
    layer.options["generator"] = seeded(5)
    with capture(layer):
        assert torch.equal(layer(tokens), outputs[0])


def test_nothing_is_left_behind(model, tokens):
    with capture(model) as traces:
        model(tokens)
    model(tokens)
    assert len(traces) == 2
    assert all(module.listeners == () for module in attentions(model))


def fail_inside(model, tokens):
    with capture(model) as traces:
        model(tokens)
        raise KeyError(len(traces))


def test_nothing_is_left_behind_when_the_body_raises(model, tokens):
    with pytest.raises(KeyError, match="2"):
        fail_inside(model, tokens)
    assert all(module.listeners == () for module in attentions(model))


def test_other_listeners_stay(model, tokens):
    heard = []
    model[0].listeners = (lambda inputs, info: heard.append(info),)
    with capture(model):
        model(tokens)
    model(tokens)
    assert len(heard) == 2


def test_nested_captures_each_hear_their_own_time(model, tokens):
    with capture(model) as outer:
        model(tokens)
        with capture(model) as inner:
            model(tokens)
        model(tokens)
    assert (len(outer), len(inner)) == (6, 2)
    assert all(torch.equal(a.scores, b.scores) for a, b in zip(outer[2:4], inner, strict=True))


def test_captures_may_close_in_any_order(model, tokens):
    first, second = capture(model), capture(model)
    first_traces, second_traces = first.__enter__(), second.__enter__()
    first.__exit__(None, None, None)
    model(tokens)
    second.__exit__(None, None, None)
    assert (len(first_traces), len(second_traces)) == (0, 2)
    assert all(module.listeners == () for module in attentions(model))


def test_a_part_of_a_model_can_be_captured_alone(model, tokens):
    with capture(model[2]) as traces:
        model(tokens)
    assert [(each.layer, each.name) for each in traces] == [(0, "")]


def test_two_models_do_not_hear_each_other(model, tokens):
    other = nn.Sequential(Layer(TopK(1)))
    with capture(model) as traces:
        other(tokens)
    assert traces == []


def test_an_attention_that_is_called_twice_is_one_layer_with_two_traces(tokens):
    layer = Layer(TopK(2))
    with capture(nn.Sequential(layer, layer)) as traces:
        nn.Sequential(layer, layer)(tokens)
    assert [each.layer for each in traces] == [0, 0]


def test_a_model_without_our_attention_cannot_be_captured():
    with (
        pytest.raises(ValueError, match="Linear has no attention by semfocus to capture"),
        capture(nn.Linear(2, 2)),
    ):
        pass


@pytest.fixture
def calls(monkeypatch):
    """Which function served each call; the reference alone has the info."""
    served = []

    def spy_on(name):
        function = getattr(observation, name)

        def spy(*arguments, **options):
            served.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(observation, name, spy)

    spy_on("choose")
    spy_on("reference_attention")
    return served


def test_without_a_listener_nothing_extra_is_computed(model, tokens, calls):
    model(tokens)
    assert calls == ["choose"] * 2


def test_the_info_is_computed_once_however_many_listen(model, tokens, calls):
    with capture(model), capture(model):
        model(tokens)
    assert calls == ["reference_attention"] * 2


def test_the_way_it_is_computed_is_passed_on(model, tokens, monkeypatch):
    seen = []
    chosen = observation.choose
    monkeypatch.setattr(observation, "choose", lambda call, name: seen.append(name) or chosen(call, name))
    model(tokens)
    assert seen == ["reference", "reference"]
