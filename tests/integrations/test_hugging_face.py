"""apply, restore and capture on tiny Hugging Face models."""

import contextlib
import copy
import json
import pickle
import subprocess
import sys
import threading
import warnings

import pytest
import torch

from semfocus import Banded, BlockLocal, Full, Random, TopK, WithGlobals, apply, capture, restore
from semfocus.reminder import Reminder
from tests.integrations.tiny_configs import tiny_config
from tests.integrations.tiny_models import DECODERS, EVERY, build, inputs_of, tokens, transformers

pytestmark = pytest.mark.hf
FIXED = Random(2, fixed=True)


def logits(model, name, padded=False):
    return model(**inputs_of(name, padded)).logits


def real_rows(name, padded):
    """Where a stock model means something: its padded queries may be anything."""
    return padded and name in (*DECODERS, "gemma2", "gpt_oss")


WHOLE_AND_PADDED = [
    (name, padded) for name in EVERY for padded in (False, True) if not (padded and name == "vit")
]


@pytest.mark.parametrize(("name", "padded"), WHOLE_AND_PADDED)
def test_full_attention_is_the_stock_model(name, padded):
    model = build(name)
    outputs, gradients = [], []
    for switched in (False, True):
        if switched:
            apply(model, Full())
        output = logits(model, name, padded)
        if real_rows(name, padded):
            output = output[inputs_of(name, padded)["attention_mask"].bool()]
        outputs.append(output)
        gradients.append(
            torch.autograd.grad(output.square().mean(), list(model.parameters()), allow_unused=True)
        )
    torch.testing.assert_close(outputs[1], outputs[0], atol=2e-5, rtol=2e-4)
    # A bias of all keys moves no weight: its gradient is 0 up to the rounding of the others.
    largest = max(float(each.abs().max()) for each in gradients[0] if each is not None)
    for expected, found in zip(*gradients, strict=True):
        assert (expected is None) == (found is None)
        if expected is not None:
            torch.testing.assert_close(found, expected, atol=1e-5 * largest, rtol=2e-4)


@pytest.mark.parametrize("name", EVERY)
def test_every_layer_keeps_k_keys_and_nothing_goes_past(name):
    model = build(name)
    stock = logits(model, name)
    applied = apply(model, TopK(2))
    with torch.inference_mode():
        output = logits(model, name)
        with capture(model) as traces:
            captured = logits(model, name)
    assert [trace.layer for trace in traces] == list(range(len(applied)))
    assert [trace.name for trace in traces] == [each.name for each in applied]
    for trace in traces:
        assert (trace.weights > 0).sum(-1).max() == 2
        assert trace.kept.sum(-1).max() == 2
        assert trace.inputs.shape[:1] == trace.scores.shape[:1]
        assert trace.inputs.shape[-2] == trace.scores.shape[-2]
    # What runs when nobody looks is what was captured, and not the stock attention.
    torch.testing.assert_close(output, captured, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(output, stock, atol=1e-3)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        *((name, pattern) for name in ("llama", "gpt2") for pattern in (TopK(2), Banded(3), FIXED)),
        *((name, TopK(2)) for name in ("mistral", "gemma2", "gpt_oss")),
    ],
    ids=str,
)
def test_changing_later_tokens_leaves_earlier_logits_identical(name, pattern):
    model = build(name)
    apply(model, pattern)
    changed = tokens()
    changed[:, 5:] = (changed[:, 5:] + 7) % 48 + 2
    first, second = (model(input_ids=each).logits for each in (tokens(), changed))
    if (
        name == "gpt_oss"
    ):  # how many tokens an expert has is the size of its products, which sum in another order
        torch.testing.assert_close(first[:, :5], second[:, :5], rtol=1e-5, atol=1e-5)
    else:
        assert torch.equal(first[:, :5], second[:, :5])
    assert not torch.equal(first[:, 5:], second[:, 5:])


@pytest.mark.parametrize("name", ["mistral", "gemma2", "gpt_oss"])
def test_a_sliding_window_stays_closed_on_both_sides(name):
    model = build(name)
    apply(model, TopK(3))
    with capture(model) as traces:
        logits(model, name)
    distance = torch.arange(9)[:, None] - torch.arange(9)
    assert not traces[0].kept[..., (distance < 0) | (distance >= 5)].any()


@pytest.mark.parametrize(
    ("name", "pattern", "padded"),
    [(name, each, padded) for name in DECODERS for each in (TopK(2), Banded(3)) for padded in (0, 3)],
    ids=str,
)
def test_a_cache_generates_the_same_tokens(name, pattern, padded):
    model = build(name).double()
    apply(model, pattern)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :padded] = 0
    options = {"attention_mask": mask, "max_new_tokens": 8, "do_sample": False, "pad_token_id": 0}
    cached = model.generate(tokens(), use_cache=True, **options)
    assert cached.shape == (2, 17)
    assert torch.equal(cached, model.generate(tokens(), use_cache=False, **options))
    restore(model)
    assert not torch.equal(cached, model.generate(tokens(), use_cache=True, **options))


@pytest.mark.parametrize("name", ["gemma2", "gpt_oss"])
def test_a_cache_gives_the_same_logits(name):
    model = build(name)
    apply(model, TopK(2))
    cache, steps = None, []
    for place in range(9):
        output = model(tokens()[:, place : place + 1], past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        steps.append(output.logits)
    torch.testing.assert_close(torch.cat(steps, 1), logits(model, name), atol=1e-4, rtol=1e-4)


def test_a_padded_sequence_generates_what_it_does_alone():
    model = build("llama").double()
    apply(model, TopK(2))
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, :3] = 0
    options = {"max_new_tokens": 6, "do_sample": False, "pad_token_id": 0}
    together = model.generate(tokens(), attention_mask=mask, **options)
    alone = model.generate(tokens()[1:, 3:], attention_mask=mask[1:, 3:], **options)
    assert torch.equal(together[1, 9:], alone[0, 6:])


@pytest.mark.parametrize("pattern", [TopK(2), Banded(3)], ids=str)
def test_t5_decodes_step_by_step_what_it_does_at_once(pattern):
    model = build("t5").double()
    apply(model, pattern, None if isinstance(pattern, TopK) else [0, 1, 2, 4])
    targets, cache, steps = tokens(6, seed=1), None, []
    encoded = model.get_encoder()(tokens())
    whole = model(encoder_outputs=encoded, decoder_input_ids=targets).logits
    for place in range(6):
        output = model(
            encoder_outputs=encoded,
            decoder_input_ids=targets[:, place : place + 1],
            past_key_values=cache,
            use_cache=True,
        )
        cache = output.past_key_values
        steps.append(output.logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-9, rtol=0)
    part = model(encoder_outputs=encoded, decoder_input_ids=targets[:, :3]).logits
    torch.testing.assert_close(part, whole[:, :3], atol=1e-9, rtol=0)


@pytest.mark.parametrize("pattern", [Banded(3), BlockLocal(3), FIXED], ids=str)
def test_cross_attention_has_no_positions(pattern):
    from semfocus.integrations.hugging_face.attention import semfocus_attention

    model = build("t5")
    with pytest.raises(ValueError, match=r"EncDecAttention .* to another: give layers=\[0, 1, 2, 4\]"):
        apply(model, pattern)
    assert model.config._attn_implementation != "semfocus"
    # A model may call its cross-attention by any name; a call shows it.
    apply(model, pattern, layers=[0])
    module = model.encoder.block[0].layer[0].SelfAttention
    query, key = torch.randn(1, 4, 2, 8), torch.randn(1, 4, 5, 8)
    with pytest.raises(ValueError, match="T5Attention attends from one sequence to another"):
        semfocus_attention(module, query, key, key, torch.ones(1, 1, 2, 5, dtype=torch.bool))


@pytest.mark.parametrize("pattern", [Banded(3), BlockLocal(3), FIXED, TopK(2)], ids=str)
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_padded_sequence_is_what_it_is_alone_or_refused(pattern, side):
    model = build("llama").double()
    apply(model, pattern)
    mask = torch.ones(2, 9, dtype=torch.long)
    mask[1, slice(0, 2) if side == "left" else slice(7, 9)] = 0
    options = {"attention_mask": mask, "position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}
    if side == "left" and isinstance(pattern, BlockLocal | Random):
        with pytest.raises(ValueError, match="pad on the right"):
            model(tokens(), **options)
        return
    together = model(tokens(), **options).logits[1, mask[1].bool()]
    alone = model(tokens()[1:, mask[1].bool()]).logits[0]
    torch.testing.assert_close(together, alone, atol=1e-9, rtol=0)


def held_configs(model):
    return [
        (name, key, id(value))
        for name, module in model.named_modules()
        for key, value in vars(module).items()
        if isinstance(value, transformers.PreTrainedConfig)
    ]


@pytest.mark.parametrize("name", EVERY)
def test_restore_brings_back_every_bit(name):
    model = build(name)
    before, config = logits(model, name), model.config.to_dict()
    implementation, state = model.config._attn_implementation, set(model.state_dict())
    held = held_configs(model)
    apply(model, TopK(2))
    apply(model, TopK(3), layers=[1])
    assert set(model.state_dict()) == state
    restore(model)
    assert torch.equal(logits(model, name), before)
    assert held_configs(model) == held
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert model.config.to_dict() == config
    assert model.config._attn_implementation == implementation


def test_what_is_changed_meanwhile_is_kept():
    model = build("llama")
    config = model.config
    apply(model, TopK(2))
    model.config.use_cache = False
    model.config.rope_parameters["note"] = 1
    apply(model, TopK(3))
    model.config.pad_token_id = 7
    assert (config.use_cache, config.pad_token_id) == (False, 0)
    restore(model)
    assert model.config is config
    assert model.model.layers[0].self_attn.config is config
    assert (config.use_cache, config.pad_token_id, config.rope_parameters["note"]) == (False, 7, 1)
    assert not hasattr(config, "semfocus")


def test_another_attention_after_apply_is_no_silent_full_attention():
    model = build("llama")
    stock = logits(model, "llama")
    apply(model, TopK(2))
    switched = logits(model, "llama")
    model.set_attn_implementation("eager")
    with pytest.raises(
        ValueError,
        match=r"set to 'eager' attention, not 'semfocus', which knows its pattern: call semfocus.apply",
    ):
        logits(model, "llama")
    apply(model)
    assert torch.equal(logits(model, "llama"), switched)
    model.set_attn_implementation("eager")
    restore(model)
    assert model.config._attn_implementation == "eager"
    torch.testing.assert_close(logits(model, "llama"), stock, atol=1e-4, rtol=1e-4)


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 1)
        self.language = build("llama")


@pytest.mark.parametrize("earlier", [None, "top_k(3)"])
def test_a_failure_half_way_leaves_no_trace(earlier):
    model = Both()
    if earlier is not None:
        apply(model, earlier)
    model.language.config.lock = threading.Lock()  # cannot be copied
    before = [(type(module), dict(vars(module))) for module in model.modules()]
    hooks = [list(module._forward_pre_hooks.values()) for module in model.modules()]
    with pytest.raises(ValueError, match="LlamaConfig of the model cannot be copied"):
        apply(model, TopK(2))
    assert [(type(module), dict(vars(module))) for module in model.modules()] == before
    assert [list(module._forward_pre_hooks.values()) for module in model.modules()] == hooks


@pytest.mark.parametrize("name", ["llama", "bert", "t5"])
def test_the_choice_is_saved_with_the_model(name, tmp_path):
    model = build(name)
    stock = logits(model, name)
    apply(model, layers={1: TopK(2)}, inverse_temperature=2.0)
    switched = logits(model, name)
    model.save_pretrained(tmp_path)
    patterns = [None, "top_k(2)", *[None] * (4 if name == "t5" else 0)]
    entry = {"patterns": patterns, "inverse_temperature": 2.0}
    assert json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["semfocus"] == entry

    loaded = type(model).from_pretrained(tmp_path).eval()
    with pytest.warns(UserWarning, match=r"was saved with top_k\(2\) and is full attention until"):
        assert torch.equal(logits(loaded, name), stock)
    assert [(each.layer, each.pattern) for each in apply(loaded)] == [(1, TopK(2))]
    assert torch.equal(logits(loaded, name), switched)
    restore(loaded)
    assert torch.equal(logits(loaded, name), stock)


@pytest.mark.parametrize("name", ["Siglip", "Siglip2"])
def test_layers_of_every_kind_are_saved(name, tmp_path):
    """The head of these models is an nn.MultiheadAttention."""
    torch.manual_seed(0)
    config = tiny_config(getattr(transformers, f"{name}VisionConfig"), initializer_range=0.4)
    model = getattr(transformers, f"{name}VisionModel")(config).eval()
    inputs = {"pixel_values": torch.randn(2, 3, 16, 16)}
    if name == "Siglip2":
        shapes = torch.tensor([[4, 4], [4, 4]])
        inputs = {"pixel_values": torch.randn(2, 16, 48), "pixel_attention_mask": torch.ones(2, 16).long()}
        inputs["spatial_shapes"] = shapes
    stock = model(**inputs).pooler_output
    kinds = [type(model.get_submodule(each.name)).__name__ for each in apply(model, TopK(2))]
    assert "MultiheadAttention" in kinds
    assert len(set(kinds)) == 2
    switched = model(**inputs).pooler_output
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path).eval()
    assert len(apply(loaded)) == len(kinds)
    assert torch.equal(loaded(**inputs).pooler_output, switched)
    restore(loaded)
    assert torch.equal(loaded(**inputs).pooler_output, stock)
    assert not torch.equal(switched, stock)


def test_a_loaded_model_reminds_once_and_not_after_apply(tmp_path):
    model = build("llama")
    apply(model, TopK(2))
    model.save_pretrained(tmp_path)
    loaded, info = type(model).from_pretrained(tmp_path, output_loading_info=True)
    assert not info["missing_keys"]
    with pytest.warns(UserWarning, match="is full attention until"):
        logits(loaded, "llama")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logits(loaded, "llama")
        fresh = type(model).from_pretrained(tmp_path)
        apply(fresh)
        logits(fresh, "llama")
        restore(fresh)
        logits(fresh, "llama")
        stock = build("llama")
        stock.save_pretrained(tmp_path / "stock")
        logits(type(stock).from_pretrained(tmp_path / "stock"), "llama")


def test_a_model_that_is_built_from_a_config_and_then_loaded_reminds_once(tmp_path):
    model = build("t5")
    apply(model, "top_k(7)")
    model.save_pretrained(tmp_path)
    config = transformers.AutoConfig.from_pretrained(tmp_path)
    inputs = {"input_ids": tokens(), "decoder_input_ids": tokens()}
    ways = [type(model), transformers.AutoModelForSeq2SeqLM.from_config]
    loaded = [way(copy.deepcopy(config)) for way in ways]
    with pytest.warns(UserWarning, match=r"remembers top_k\(7\), and the model is full attention") as heard:
        outputs = [each(**inputs) for each in loaded]
    assert len(heard) == 1 < len(outputs)
    apply(loaded[0])
    assert not any(map(_reminds, loaded[0].modules()))


def test_a_pickled_model_runs_where_nobody_called_apply(tmp_path):
    model = build("llama")
    apply(model, TopK(2))
    torch.save((model, tokens(), logits(model, "llama")), tmp_path / "model.pt")
    code = (
        "import sys, torch; model, tokens, logits = torch.load(sys.argv[1], weights_only=False); "
        "assert torch.allclose(model(tokens).logits, logits, atol=1e-5)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "model.pt")], check=True)


def _reminds(module):
    return any(isinstance(hook, Reminder) for hook in module._forward_pre_hooks.values())


@pytest.mark.parametrize("way", ["inside", "compiled", "copied"])
def test_a_loaded_model_reminds_however_it_is_called(way, tmp_path):
    model = build("llama")
    apply(model, TopK(2))
    model.save_pretrained(tmp_path)
    loaded = type(model).from_pretrained(tmp_path)
    calls = {
        "inside": lambda: loaded.model(tokens()),
        "compiled": lambda: torch.compile(loaded, backend="eager", fullgraph=True)(tokens()),
        "copied": lambda: pickle.loads(pickle.dumps(loaded))(tokens()),
    }
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match=r"LlamaForCausalLM was saved with top_k\(2\) and is full"):
        calls[way]()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calls[way]()
        loaded(tokens())
    apply(loaded)
    assert not any(map(_reminds, loaded.modules()))


def test_a_part_of_a_switched_model_reminds_when_it_is_loaded_alone(tmp_path):
    parts = {"image_size": 16, "initializer_range": 0.4}
    model = transformers.SiglipModel(tiny_config(transformers.SiglipConfig, **parts))
    apply(model, TopK(2))
    model.save_pretrained(tmp_path / "whole")
    part = transformers.SiglipVisionModel.from_pretrained(tmp_path / "whole")
    pixels = torch.randn(1, 3, 16, 16)
    with pytest.warns(UserWarning, match=r"part of a model that was saved with top_k\(2\), and is full"):
        part(pixels)
    apply(part, TopK(2))
    restore(part)
    part.save_pretrained(tmp_path / "part")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part(pixels)
        transformers.SiglipVisionModel.from_pretrained(tmp_path / "part")(pixels)


@pytest.mark.parametrize(
    "order",
    [
        "semfocus, transformers",
        "transformers.modeling_utils, semfocus",
    ],
)
@pytest.mark.slow
def test_the_reminder_needs_no_order_of_imports(order):
    code = (
        f"import {order}; from transformers import PreTrainedModel; "
        "assert PreTrainedModel.from_pretrained.__func__._reminds; "
        "assert PreTrainedModel.from_pretrained.__doc__"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_config_that_remembers_another_model_is_refused():
    model = build("llama")
    model.config.semfocus = {"patterns": ["top_k(2)"] * 5, "inverse_temperature": 1.0}
    with pytest.raises(ValueError, match="5 attention layers, this model has 2"):
        apply(model)
    model.config.semfocus = "top_k(2)"
    with pytest.raises(ValueError, match="cannot read the entry 'semfocus'"):
        apply(model)
    with pytest.raises(ValueError, match="no config that remembers one"):
        apply(build("llama"))


def test_a_model_of_the_same_config_is_not_touched():
    config = transformers.LlamaConfig(**build("llama").config.to_dict())
    first, second = transformers.LlamaForCausalLM(config).eval(), transformers.LlamaForCausalLM(config).eval()
    before = logits(second, "llama")
    apply(first, TopK(2))
    assert torch.equal(logits(second, "llama"), before)
    assert config._attn_implementation != "semfocus"


def test_a_model_built_from_a_switched_config_asks_to_be_switched():
    model = build("llama")
    apply(model, TopK(2))
    with pytest.raises(RuntimeError, match=r"call semfocus.apply\(model\)"):
        logits(transformers.LlamaForCausalLM(model.config), "llama")


def test_a_copy_can_be_restored():
    model = build("llama")
    before = logits(model, "llama")
    apply(model, TopK(2))
    twin = copy.deepcopy(model)
    restore(twin)
    assert torch.equal(logits(twin, "llama"), before)
    assert not torch.equal(logits(model, "llama"), before)


@pytest.mark.parametrize("name", [*EVERY, "opt"])
def test_attention_weights_are_given_when_asked_for(name):
    model = build(name)
    stock = copy.deepcopy(model)
    stock.set_attn_implementation("eager")
    apply(model, TopK(2))
    asked, expected = (each(**inputs_of(name), output_attentions=True) for each in (model, stock))
    fields = [field for field in expected if field.endswith("attentions") and expected[field]]
    assert len(fields) == (3 if name == "t5" else 1)
    for field in fields:
        assert [each.shape for each in asked[field]] == [each.shape for each in expected[field]]
        assert [int((each > 0).sum(-1).max()) for each in asked[field]] == [2, 2]


def test_masks_of_the_user_are_honoured():
    model = build("llama")
    causal = torch.ones(9, 9, dtype=torch.bool).tril().expand(2, 1, 9, 9).clone()
    causal[:, :, :, 2] &= torch.arange(9) == 2
    least = torch.finfo(torch.float32).min
    as_float = torch.zeros(2, 1, 9, 9).masked_fill(~causal, least)
    bias = as_float + torch.linspace(0, 2, 9)
    for mask in (causal, as_float, bias):
        restored = model(tokens(), attention_mask=mask).logits
        apply(model, Full())
        torch.testing.assert_close(
            model(tokens(), attention_mask=mask).logits, restored, atol=2e-4, rtol=2e-4
        )
        restore(model)


@pytest.mark.parametrize("pattern", [TopK(2), Banded(3), BlockLocal(3)], ids=str)
def test_a_large_negative_number_forbids(pattern):
    model = build("llama")
    apply(model, pattern)
    causal = torch.ones(9, 9, dtype=torch.bool).tril().expand(2, 1, 9, 9)
    expected = model(tokens(), attention_mask=causal).logits
    for value in (-torch.inf, torch.finfo(torch.float32).min, -1e9, -1e4):
        mask = torch.zeros(2, 1, 9, 9).masked_fill(~causal, value)
        torch.testing.assert_close(
            model(tokens(), attention_mask=mask).logits, expected, atol=1e-4, rtol=1e-4
        )


@pytest.mark.parametrize("value", [torch.nan, torch.inf], ids=str)
@pytest.mark.parametrize("name", ["llama", "gpt_oss"])
def test_what_is_no_number_in_a_mask_is_not_dropped_in_silence(name, value):
    model = build(name)
    apply(model, TopK(2))
    mask = torch.zeros(2, 1, 9, 9).masked_fill(~torch.ones(9, 9, dtype=torch.bool).tril(), -torch.inf)
    mask[0, 0, 6, 3] = value
    found = model(tokens(), attention_mask=mask).logits.isfinite().all(-1)
    assert not found[0, 6]
    assert found[0, :6].all()
    assert found[1].all()


@pytest.mark.parametrize("name", ["llama", "gpt2", "bert", "t5"])
@pytest.mark.parametrize("how", ["bfloat16", "float16", "autocast"])
def test_half_precision_is_near_the_stock_model_and_keeps_k_keys(name, how):
    model = build(name)
    exact = logits(model, name)
    context = contextlib.nullcontext()
    if how == "autocast":
        context = torch.autocast("cpu", torch.bfloat16)
    else:
        model = model.to(getattr(torch, how))
    with context, torch.no_grad():
        stock = logits(model, name)
        apply(model, Full())
        ours = logits(model, name)
        assert ours.dtype == stock.dtype
        errors = [float((each.float() - exact).abs().max()) for each in (stock, ours)]
        assert errors[1] < 2 * errors[0] + 1e-3, "no further from float32 than the stock model"
        apply(model, TopK(2))
        with capture(model) as traces:
            logits(model, name)
    assert all(int(trace.kept.sum(-1).max()) == 2 for trace in traces)


@pytest.mark.parametrize(("name", "dropout"), [("llama", "attention_dropout"), ("gpt2", "attn_pdrop")])
def test_gradient_checkpointing_gives_the_same_gradients(name, dropout):
    model = build(name, **{dropout: 0.3}).train()
    apply(model, TopK(3))
    found = []
    for checkpointed in (False, True):
        if checkpointed:
            model.gradient_checkpointing_enable({"use_reentrant": False})
        torch.manual_seed(5)
        loss = model(tokens(), labels=tokens(), use_cache=False).loss
        found.append([loss, *torch.autograd.grad(loss, list(model.parameters()))])
    assert all(torch.equal(*pair) for pair in zip(*found, strict=True))


def test_training_drops_and_a_compiled_model_is_one_graph():
    model = build("llama", attention_dropout=0.5)
    apply(model, TopK(2))
    assert torch.equal(logits(model, "llama"), logits(model, "llama"))
    model.train()
    assert not torch.equal(logits(model, "llama"), logits(model, "llama"))
    model.eval()
    torch._dynamo.reset()
    compiled = torch.compile(model, dynamic=True, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(tokens()).logits, logits(model, "llama"), atol=1e-4, rtol=1e-4)


REFUSED = {
    "bloom": r"transformer.h.0.self_attention \(BloomAttention, modeling_bloom.py:\d+\) computes .* by itself, and 1 more module cannot",
    "gptj": r"GPTJAttention, modeling_gptj.py:\d+\) computes its attention by itself",
}


def _without_interface(name):
    if name == "bloom":
        return transformers.BloomForCausalLM(
            transformers.BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=50)
        )
    return transformers.GPTJForCausalLM(
        transformers.GPTJConfig(n_embd=32, n_layer=2, n_head=4, rotary_dim=4, vocab_size=50, n_positions=64)
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_without_the_interface_is_refused_and_left_untouched(name):
    model = _without_interface(name)
    before, config = [set(vars(module)) for module in model.modules()], model.config
    values = config.to_dict()
    with pytest.raises(ValueError, match=REFUSED[name]) as error:
        apply(model, TopK(2))
    assert "\n" not in str(error.value)
    assert [set(vars(module)) for module in model.modules()] == before
    assert model.config is config
    assert config.to_dict() == values


@pytest.mark.parametrize(
    ("name", "pattern", "message"),
    [
        ("llama", WithGlobals(BlockLocal(3), 1), "cannot be causal, as model.layers.0.self_attn"),
        ("mistral", BlockLocal(3), "the cache of a sliding window moves"),
        ("mistral", Random(3, fixed=True), "the cache of a sliding window moves"),
    ],
)
def test_patterns_a_model_cannot_mean_are_refused(name, pattern, message):
    model = build(name)
    with pytest.raises(ValueError, match=message):
        apply(model, pattern)
    assert model.config._attn_implementation != "semfocus"


def test_a_cache_of_fixed_size_serves_patterns_of_scores_only():
    model = build("llama").double()
    options = {"max_new_tokens": 4, "do_sample": False, "pad_token_id": 0, "disable_compile": True}
    apply(model, TopK(2))
    found = [model.generate(tokens(), cache_implementation=each, **options) for each in ("static", "dynamic")]
    assert torch.equal(*found)
    apply(model, BlockLocal(3))
    model.generate(tokens(), cache_implementation="dynamic", **options)
    with pytest.raises(ValueError, match="use a DynamicCache"):
        model.generate(tokens(), cache_implementation="static", **options)


def test_what_a_call_brings_along_is_refused_by_name():
    model = build("llama")
    apply(model, TopK(2))
    with pytest.raises(ValueError, match="LlamaAttention gives its attention 'alibi'"):
        model(tokens(), alibi=torch.zeros(1))


def test_no_mask_never_means_the_future():
    from semfocus.integrations.hugging_face.attention import semfocus_attention

    model = build("llama")
    apply(model, Full())
    module = model.model.layers[0].self_attn
    query, key = torch.randn(1, 4, 5, 8), torch.randn(1, 2, 5, 8)
    first = semfocus_attention(module, query, key, key, None)[0]
    key = torch.cat([key[:, :, :3], torch.randn(1, 2, 2, 8)], 2)
    assert torch.equal(first[:, :3], semfocus_attention(module, query, key, key, None)[0][:, :3])
    with pytest.raises(ValueError, match="came without a mask"):
        semfocus_attention(module, query[:, :, :3], key, key, None)
    with pytest.raises(ValueError, match="sliding window"):
        semfocus_attention(module, query, key, key, None, sliding_window=2)


def test_without_transformers_the_error_names_the_extra(monkeypatch):
    model = build("llama")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ImportError, match=r"pip install 'semfocus\[hf\]'"):
        apply(model, TopK(2))
    assert model.config._attn_implementation != "semfocus"


@pytest.mark.parametrize("causal", [True, False])
def test_the_mask_is_made_even_where_others_leave_it_out(causal):
    from transformers.masking_utils import bidirectional_mask_function, causal_mask_function, sdpa_mask

    from semfocus.integrations.hugging_face.attention import semfocus_mask

    options = {
        "batch_size": 2,
        "q_length": 4,
        "kv_length": 4,
        "mask_function": causal_mask_function if causal else bidirectional_mask_function,
        "allow_is_causal_skip": causal,
        "allow_is_bidirectional_skip": not causal,
    }
    assert sdpa_mask(**options) is None
    mask = semfocus_mask(**options)
    assert (mask.dtype, mask.shape) == (torch.bool, (2, 1, 4, 4))
    expected = torch.ones(4, 4, dtype=torch.bool)
    assert torch.equal(mask[1, 0], expected.tril() if causal else expected)


def test_packed_sequences_do_not_see_each_other():
    model = build("llama")
    apply(model, TopK(2))
    both = torch.cat([tokens()[:1, :4], tokens()[1:, :5]], dim=1)
    positions = torch.tensor([[*range(4), *range(5)]])
    packed = model(both, position_ids=positions, use_cache=False).logits
    alone = model(tokens()[1:, :5], use_cache=False).logits
    torch.testing.assert_close(packed[:, 4:], alone, atol=1e-4, rtol=1e-4)
