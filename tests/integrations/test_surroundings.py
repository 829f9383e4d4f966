"""Switched models under what people put around them: compilers, exports, wrappers of accelerate, devices
without numbers.
"""

import functools

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from semfocus import Banded, TopK, apply, capture, check, restore
from tests.integrations.tiny_models import build, tokens

WIDTH = 16


def logits_of(model):
    return model(tokens()).logits


def encoder():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 32, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


def numbers(batch=3, length=8):
    return torch.randn(batch, length, WIDTH, generator=torch.Generator().manual_seed(1))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [TopK(3), Banded(3)], ids=str)
def test_a_graph_for_all_sizes(pattern):
    model = encoder()
    apply(model, pattern)
    torch._dynamo.reset()
    compiled = torch.compile(model, dynamic=True, fullgraph=True, backend="aot_eager")
    for batch, length in ((3, 8), (4, 11)):
        x = numbers(batch, length)
        torch.testing.assert_close(compiled(x), model(x), atol=1e-5, rtol=1e-5)


@pytest.mark.hf
@pytest.mark.slow
@pytest.mark.parametrize("dynamic", [None, True])
def test_a_graph_for_all_sizes_of_a_model_of_transformers(dynamic):
    model = build("llama")
    apply(model, TopK(3))
    torch._dynamo.reset()
    compiled = torch.compile(model, dynamic=dynamic, fullgraph=True, backend="aot_eager")
    for length in (7, 9):
        x = tokens(length)
        torch.testing.assert_close(compiled(x).logits, model(x).logits, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("varied", [(0,), (0, 1)], ids=["batch", "batch and length"])
def test_an_exported_encoder_takes_other_sizes(varied):
    model = encoder()
    apply(model, TopK(3))
    dimensions = {0: torch.export.Dim("batch", min=2), 1: torch.export.Dim("length", min=5)}
    shapes = ({each: dimensions[each] for each in varied},)
    program = torch.export.export(model, (numbers(),), dynamic_shapes=shapes).module()
    x = numbers(5, 11 if 1 in varied else 8)
    torch.testing.assert_close(program(x), model(x), atol=1e-5, rtol=1e-5)


def test_added_keys_are_exported_too():
    torch.manual_seed(0)
    model = nn.MultiheadAttention(WIDTH, 4, batch_first=True, add_bias_kv=True, add_zero_attn=True).eval()
    apply(model, TopK(3))
    batch = {0: torch.export.Dim("batch", min=2)}
    program = torch.export.export(model, (numbers(),) * 3, dynamic_shapes=(batch,) * 3).module()
    x = numbers(5)
    torch.testing.assert_close(program(x, x, x)[0], model(x, x, x)[0], atol=1e-5, rtol=1e-5)


def dispatched(model):
    """As accelerate does it: an attribute `forward` of every module, which calls `_old_forward`."""
    for module in model.modules():
        module._old_forward = module.forward

        def forward(module, *args, **kwargs):
            return module._old_forward(*args, **kwargs)

        wrapped = functools.partial(forward, module)
        module.forward = functools.update_wrapper(wrapped, module._old_forward)
    return model


def taken_off(model):
    """As accelerate takes its hooks off: what remains is an attribute `forward` that is the class's own."""
    for module in model.modules():
        if "_old_forward" in vars(module):
            module.forward = module._old_forward
            del module._old_forward


@pytest.mark.hf
def test_a_dispatched_model_of_transformers_is_switched():
    plain, model = build("llama"), dispatched(build("llama"))
    before = logits_of(model)
    apply(plain, TopK(3))
    apply(model, TopK(3))
    assert torch.equal(logits_of(model), logits_of(plain))
    assert check(model, input_ids=tokens()).ok
    restore(model)
    assert torch.equal(logits_of(model), before)


def test_a_dispatched_encoder_is_switched():
    plain, model = encoder(), dispatched(encoder())
    before = model(numbers())
    apply(plain, TopK(3))
    apply(model, TopK(3))
    assert torch.equal(model(numbers()), plain(numbers()))
    assert check(model, numbers()).ok
    restore(model)
    assert torch.equal(model(numbers()), before)


def test_a_wrapper_that_keeps_the_old_attention_is_refused():
    model = encoder()
    attention = model.layers[0].self_attn
    attention.forward = functools.partial(attention.forward)
    with pytest.raises(ValueError, match="was given another forward"):
        apply(model, TopK(3))


def test_a_model_without_numbers_gives_a_shape():
    model = encoder().to("meta")
    apply(model, TopK(3))
    assert model(numbers().to("meta")).shape == numbers().shape
    padding = torch.zeros(3, 8, dtype=torch.bool, device="meta")
    assert model(numbers().to("meta"), src_key_padding_mask=padding).is_meta


def test_the_advice_for_second_derivatives_works():
    model = encoder()
    apply(model, TopK(3))
    x = numbers().requires_grad_()
    with capture(model):
        output = model(x)
    (first,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.square().sum(), x)
    assert second.abs().sum() > 0


def enter(model):
    return capture(model).__enter__()


@pytest.mark.parametrize("function", [apply, restore, check, enter])
def test_what_is_no_model_is_refused_in_a_sentence(function):
    for given in ("gpt2", {"a": 1}):
        with pytest.raises(ValueError, match=r"\w+ takes a model, a torch.nn.Module, got .*load it first"):
            function(given)


@pytest.mark.parametrize("when", ["before", "after", "gone"])
def test_a_wrapper_of_accelerate_may_come_and_go(when):
    model = encoder()
    plain = encoder()
    before = model(numbers())
    if when != "after":
        dispatched(model)
    apply(model, TopK(3))
    if when == "after":
        dispatched(model)
    if when == "gone":
        taken_off(model)
    apply(plain, TopK(3))
    assert torch.equal(model(numbers()), plain(numbers()))
    restore(model)
    assert torch.equal(model(numbers()), before)
    taken_off(model)
    apply(model, TopK(3))
    assert torch.equal(model(numbers()), plain(numbers()))
    assert check(model, numbers()).ok


def test_a_class_that_came_after_the_switch_is_not_lost():
    model = encoder()
    before = model(numbers())
    apply(model, TopK(3))
    attention = model.layers[0].self_attn
    parametrize.register_parametrization(attention, "in_proj_weight", nn.Identity())
    switched = model(numbers())
    with pytest.raises(ValueError, match=r"made a ParametrizedMultiheadAttention .* take that back first"):
        restore(model)
    assert torch.equal(model(numbers()), switched)
    parametrize.remove_parametrizations(attention, "in_proj_weight")
    restore(model)
    assert torch.equal(model(numbers()), before)


@pytest.mark.hf
def test_what_a_tokenizer_adds_is_passed_on_as_before():
    model = build("llama")
    inputs = {"input_ids": tokens(), "token_type_ids": torch.zeros_like(tokens())}
    stock = model(**inputs).logits
    apply(model, "full")
    torch.testing.assert_close(model(**inputs).logits, stock, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("way", ["wrapper", "in place"])
def test_check_runs_a_compiled_model_without_its_compiler(way):
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    model = encoder()
    apply(model, TopK(3))
    torch._dynamo.reset()
    if way == "wrapper":
        model = torch.compile(model, backend=backend)
    else:
        model.compile(backend=backend)
    report = check(model, numbers())
    assert report.ok, report
    assert not graphs
    model(numbers())
    assert graphs
