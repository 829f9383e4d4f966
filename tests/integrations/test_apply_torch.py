"""apply and restore on models of PyTorch: nothing is bypassed, nothing is half switched, everything can be undone."""

import copy
import io

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import semfocus
from semfocus import Banded, Full, TopK, apply, capture, restore
from semfocus.model import Classifier, ModelConfig

PADDING = torch.tensor([[False] * 8, [False] * 5 + [True] * 3])


def encoder(norm_first=False, dropout=0.0):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=dropout, batch_first=True, norm_first=norm_first)
    return nn.TransformerEncoder(layer, 3, enable_nested_tensor=not norm_first)


def tokens():
    return torch.randn(2, 8, 16, generator=torch.Generator().manual_seed(1))


MODES = {
    "training": (True, torch.enable_grad),
    "evaluation": (False, torch.enable_grad),
    "inference": (False, torch.inference_mode),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("padding", [None, PADDING], ids=["no padding", "padding"])
@pytest.mark.parametrize("norm_first", [False, True])
def test_full_attention_is_the_stock_encoder(mode, padding, norm_first):
    training, context = MODES[mode]
    stock = encoder(norm_first).train(training)
    ours = copy.deepcopy(stock)
    apply(ours, Full())
    real = slice(None) if padding is None else ~padding
    with context():
        outputs = [model(tokens(), src_key_padding_mask=padding)[real] for model in (stock, ours)]
    torch.testing.assert_close(outputs[1], outputs[0], atol=1e-5, rtol=1e-5)
    if context is torch.enable_grad:
        gradients = [
            torch.autograd.grad(output.square().mean(), list(model.parameters()))
            for output, model in zip(outputs, (stock, ours), strict=True)
        ]
        for expected, found in zip(*gradients, strict=True):
            torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def test_the_decoder_attends_to_itself_and_to_memory():
    torch.manual_seed(0)
    stock = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 2)
    ours = copy.deepcopy(stock)
    assert [each.name for each in apply(ours, Full())] == [
        "layers.0.self_attn",
        "layers.0.multihead_attn",
        "layers.1.self_attn",
        "layers.1.multihead_attn",
    ]
    causal = nn.Transformer.generate_square_subsequent_mask(8)
    outputs = [model(tokens(), tokens().flip(1)[:, :5], tgt_mask=causal) for model in (stock, ours)]
    torch.testing.assert_close(outputs[1], outputs[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("padding", [None, PADDING], ids=["no padding", "padding"])
def test_no_fast_path_goes_past_the_pattern(padding):
    model = encoder().eval()
    apply(model, TopK(2))
    with torch.inference_mode():
        output = model(tokens(), src_key_padding_mask=padding)
        with capture(model) as traces:
            captured = model(tokens(), src_key_padding_mask=padding)
    assert [trace.layer for trace in traces] == [0, 1, 2]
    assert all((trace.weights > 0).sum(-1).max() == 2 for trace in traces)
    # What runs when nobody looks is what was captured.
    torch.testing.assert_close(output, captured, atol=1e-5, rtol=1e-5)


def test_an_encoder_built_of_ours_is_not_bypassed_either():
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    layer.self_attn = semfocus.MultiheadAttention(16, 4, batch_first=True, pattern=TopK(2))
    with pytest.warns(UserWarning, match="_qkv_same_embed_dim was not True"):
        model = nn.TransformerEncoder(layer, 2).eval()
    with torch.inference_mode(), capture(model) as traces:
        model(tokens(), src_key_padding_mask=PADDING)
    assert [int((trace.weights > 0).sum(-1).max()) for trace in traces] == [2, 2]


def test_changing_later_tokens_leaves_earlier_rows_identical():
    model = encoder().eval()
    apply(model, TopK(2))
    causal = nn.Transformer.generate_square_subsequent_mask(8)
    changed = tokens()
    changed[:, 5:] += 1.0
    first, second = (model(x, mask=causal, is_causal=True) for x in (tokens(), changed))
    assert torch.equal(first[:, :5], second[:, :5])
    assert not torch.equal(first[:, 5:], second[:, 5:])


def test_an_optimiser_and_hooks_keep_working():
    model = encoder()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    called = []
    model.layers[0].self_attn.register_forward_hook(lambda *_: called.append(True))
    before = {name: id(parameter) for name, parameter in model.named_parameters()}
    weight = model.layers[1].self_attn.in_proj_weight.detach().clone()
    apply(model, TopK(2))
    assert {name: id(parameter) for name, parameter in model.named_parameters()} == before
    model(tokens()).square().mean().backward()
    optimiser.step()
    assert called
    assert not torch.equal(model.layers[1].self_attn.in_proj_weight, weight)


def test_state_dicts_fit_both_ways():
    stock, ours = encoder(), encoder()
    apply(ours, TopK(2))
    ours.load_state_dict(stock.state_dict(), strict=True)
    stock.load_state_dict(ours.state_dict(), strict=True)


@pytest.mark.parametrize("padding", [None, PADDING], ids=["no padding", "padding"])
def test_restore_brings_back_every_bit(padding):
    model = encoder().eval()
    with torch.inference_mode():
        before = model(tokens(), src_key_padding_mask=padding)
        state = [dict(vars(module)) for module in model.modules()]
        apply(model, TopK(2))
        apply(model, Banded(3), layers=[1])
        switched = model(tokens(), src_key_padding_mask=padding)
        restore(model)
        after = model(tokens(), src_key_padding_mask=padding)
    assert not torch.equal(before, switched)
    assert torch.equal(before, after)
    assert [vars(module) for module in model.modules()] == state
    assert type(model.layers[0].self_attn) is nn.MultiheadAttention
    with pytest.raises(ValueError, match="nothing to restore"):
        restore(model)


def test_a_pattern_for_each_layer():
    model = encoder().eval()
    applied = apply(model, layers={0: TopK(2), 2: "banded(3)"}, inverse_temperature=2)
    assert [(each.layer, str(each.pattern)) for each in applied] == [(0, "top_k(2)"), (2, "banded(3)")]
    assert repr(applied) == (
        "3 attention layers found, 2 switched at inverse temperature 2.0; "
        "semfocus.check(model, ...) tests that by running the model\n"
        "    0  top_k(2)   layers.0.self_attn\n"
        "    2  banded(3)  layers.2.self_attn"
    )
    with torch.inference_mode(), capture(model) as traces:
        model(tokens(), src_key_padding_mask=PADDING)
    assert [(trace.layer, int(trace.kept.sum(-1).max())) for trace in traces] == [(0, 2), (1, 8), (2, 3)]


def test_capture_numbers_layers_as_apply_does():
    model = encoder().eval()
    apply(model, TopK(2), layers=[2])
    with torch.inference_mode(), capture(model) as traces:
        model(tokens())
    assert [trace.layer for trace in traces if trace.kept.sum(-1).max() == 2] == [2]
    assert [trace.name for trace in traces] == [f"layers.{layer}.self_attn" for layer in range(3)]


def test_a_layer_of_ours_that_is_left_out_keeps_its_pattern():
    model = encoder().eval()
    model.layers[1].self_attn = semfocus.MultiheadAttention(16, 4, batch_first=True, pattern=TopK(3))
    apply(model, TopK(2), layers=[2])
    with torch.inference_mode(), capture(model) as traces:
        model(tokens())
    assert [int(trace.kept.sum(-1).max()) for trace in traces] == [8, 3, 2]


def test_a_copy_and_a_saved_model_can_be_restored():
    model = encoder().eval()
    before = model(tokens())
    apply(model, TopK(2))
    twin = copy.deepcopy(model)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    loaded = torch.load(file, weights_only=False)
    for each in (twin, loaded):
        assert torch.equal(each(tokens()), model(tokens()))
        restore(each)
        assert torch.equal(each(tokens()), before)
    assert not torch.equal(model(tokens()), before)


class OwnAttention(nn.Module):
    def forward(self, x):
        return (x @ x.transpose(-2, -1)).softmax(-1) @ x


class CallsFunction(nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x)


class Subclass(nn.MultiheadAttention):
    pass


class Router(nn.Module):
    def forward(self, x):
        return x.softmax(-1)


REFUSED = {
    "OwnAttention": (
        OwnAttention(),
        r"1 \(OwnAttention, test_apply_torch.py:\d+\) computes its attention by itself",
    ),
    "CallsFunction": (CallsFunction(), r"1 \(CallsFunction, .*\) calls an attention function"),
    "Subclass": (Subclass(16, 4), r"1 \(Subclass, .*\) is a subclass of nn.MultiheadAttention"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_with_another_attention_is_left_untouched(name):
    other, message = REFUSED[name]
    model = nn.Sequential(encoder(), other)
    before = [(type(module), dict(vars(module))) for module in model.modules()]
    with pytest.raises(ValueError, match=message) as error:
        apply(model, TopK(2))
    assert "\n" not in str(error.value)
    assert [(type(module), dict(vars(module))) for module in model.modules()] == before


def test_a_softmax_alone_is_no_attention():
    assert len(apply(nn.Sequential(encoder(), Router()), TopK(2))) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pattern": 5}, "must be a Pattern such as TopK"),
        ({"pattern": "topk(5)"}, r"did you mean 'top_k'"),
        ({"pattern": TopK(2), "layers": [3]}, "numbered 0 to 2 in this model, got 3"),
        ({"pattern": TopK(2), "layers": [True]}, "got True"),
        ({"pattern": TopK(2), "layers": []}, "names no layer"),
        ({"pattern": TopK(2), "layers": 1}, r"layers must be numbers such as \[0, 2\].* got 1"),
        ({"pattern": TopK(2), "layers": {0: TopK(3)}}, "not both"),
        ({"layers": [0]}, "layers without a pattern"),
        ({}, "give a pattern"),
        ({"pattern": TopK(2), "inverse_temperature": 0}, "positive number, got 0"),
        ({"pattern": TopK(2), "inverse_temperature": float("nan")}, "positive number, got nan"),
    ],
)
def test_bad_arguments_are_refused_in_one_line(arguments, message):
    model = encoder()
    with pytest.raises(ValueError, match=message) as error:
        apply(model, **arguments)
    assert "\n" not in str(error.value)
    assert type(model.layers[0].self_attn) is nn.MultiheadAttention


def test_a_failed_second_apply_leaves_the_first():
    model = encoder()
    apply(model, TopK(2))
    with pytest.raises(ValueError, match="numbered"):
        apply(model, TopK(3), layers=[7])
    assert model.layers[0].self_attn.pattern == TopK(2)


def test_a_failure_half_way_leaves_the_model_as_it_was(monkeypatch):
    model = encoder()
    hook = model.layers[0].self_attn.register_forward_pre_hook(lambda *_: None)
    for earlier in (None, TopK(3)):
        if earlier is not None:
            apply(model, earlier)
        before = [(type(module), dict(vars(module))) for module in model.modules()]

        def fail(model, undo):
            assert model.layers[2].self_attn.pattern == TopK(2), "all modules are switched by now"
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr("semfocus.integrations.switch.switch_encoders", fail)
            with pytest.raises(KeyboardInterrupt):
                apply(model, TopK(2))
        assert [(type(module), dict(vars(module))) for module in model.modules()] == before
    hook.remove()
    restore(model)
    assert not model.layers[0].self_attn._forward_pre_hooks
    assert type(model.layers[0].self_attn) is nn.MultiheadAttention


def test_a_model_without_attention_is_refused():
    with pytest.raises(ValueError, match="Linear has no attention that can be switched"):
        apply(nn.Linear(2, 2), TopK(2))
    with (
        pytest.raises(ValueError, match=r"call semfocus.apply\(model, Full\(\)\) first"),
        capture(encoder()),
    ):
        pass


def test_a_part_and_a_whole_are_not_switched_over_each_other():
    whole = nn.Sequential(encoder())
    apply(whole[0], TopK(2))
    with pytest.raises(ValueError, match="on a part of this model"):
        apply(whole, TopK(3))
    restore(whole)
    assert type(whole[0].layers[0].self_attn) is nn.MultiheadAttention


def test_a_model_of_ours_says_where_its_pattern_is_given():
    config = ModelConfig(vocab_size=3, num_classes=2, max_length=6, d_model=8, d_mlp=8, num_blocks=1)
    with pytest.raises(ValueError, match="attention of ours with a pattern of its own"):
        apply(Classifier(config), TopK(2))


class Adapter(nn.Module):
    """As adapters do it: around a layer, whose weights it shows."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.weight, self.bias = layer, layer.weight, layer.bias

    def forward(self, x):
        return self.layer(x) + 1


def with_adapter(attention):
    attention.out_proj = Adapter(attention.out_proj)


ADDITIONS = {
    "adapter": with_adapter,
    "hook": lambda attention: attention.out_proj.register_forward_hook(lambda *args: args[-1] + 1),
    "hook before": lambda attention: attention.out_proj.register_forward_pre_hook(lambda *args: None),
    "hook of gradients": lambda attention: attention.out_proj.register_full_backward_hook(lambda *args: None),
    "method": lambda attention: setattr(attention.out_proj, "forward", lambda x: x),
}


@pytest.mark.parametrize("layers", [None, [1]], ids=["all", "a layer that is left out"])
@pytest.mark.parametrize("addition", ADDITIONS)
def test_what_sits_on_a_projection_that_torch_never_calls_is_refused(addition, layers):
    model = nn.Sequential(nn.TransformerEncoderLayer(8, 2), nn.TransformerEncoderLayer(8, 2))
    ADDITIONS[addition](model[0].self_attn)
    before = type(model[0].self_attn)
    with pytest.raises(ValueError, match=r"0\.self_attn has hooks or an adapter on out_proj"):
        apply(model, "full", layers=layers)
    assert type(model[0].self_attn) is before


def test_what_sits_on_a_projection_is_refused_after_a_switch_too():
    module = nn.MultiheadAttention(8, 2)
    apply(module, "top_k(2)")
    apply(module, "top_k(3)")  # hooks of our own are no reason
    ADDITIONS["hook"](module)
    with pytest.raises(ValueError, match="the model itself has hooks or an adapter on out_proj"):
        apply(module, "top_k(2)")
    ours = semfocus.MultiheadAttention(8, 2)
    ADDITIONS["hook"](ours)
    apply(ours, "top_k(2)")  # it has always called its projection
