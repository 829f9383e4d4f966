"""check finds what is planted, and leaves a model as it was."""

import copy
import random

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import semfocus
from semfocus import Banded, Full, TopK, apply, check
from semfocus.integrations.hugging_face import attention as of_transformers
from tests.integrations.tiny_models import DECODERS, EVERY, build, inputs_of, tokens

WIDTH = 16
TOKENS = "whether later tokens change earlier outputs"
PADDING = "whether padding on the right changes outputs"
CACHE = "whether a cache changes outputs"


def encoder(norm=False):
    torch.manual_seed(0)
    layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True), 2)
    return nn.Sequential(nn.BatchNorm1d(6), layers) if norm else layers


def numbers():
    return torch.randn(2, 6, WIDTH, generator=torch.Generator().manual_seed(1))


@pytest.mark.hf
@pytest.mark.parametrize("pattern", [TopK(2), Banded(3), Full()], ids=str)
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_found_in_what_is_right(name, pattern):
    model = build(name)
    layers = [0, 1] if name == "t5" else None  # the encoder: a band has no positions in another sequence
    apply(model, pattern, layers=layers)
    report = check(model, **inputs_of(name))
    assert report.problems == []
    assert report.ok
    assert report.raise_for_problems() is None
    if name in DECODERS:
        assert {TOKENS, PADDING, CACHE} <= set(report.tested)


@pytest.mark.parametrize("batch_first", [True, False])
def test_rows_of_a_batch_are_no_tokens(batch_first):
    torch.manual_seed(0)
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=batch_first), 1)
    mask = nn.Transformer.generate_square_subsequent_mask(6)
    apply(model, TopK(2))
    x = torch.randn(6, 6, WIDTH)  # as long as the batch is large
    report = check(model, src=x, mask=mask)
    assert report.ok
    assert (TOKENS in report.tested) == batch_first
    assert any("is the batch first" in each for each in report.not_tested) != batch_first


@pytest.mark.hf
def test_keys_that_are_drawn_differ_between_lengths_without_being_wrong():
    model = build("llama")
    apply(model, "random(2)")
    report = check(model, input_ids=tokens())
    assert report.problems == []
    assert f"{CACHE}: keys are drawn at random" in report.not_tested


@pytest.mark.parametrize("training", [True, False])
def test_a_model_is_left_as_it_was(training):
    model = encoder(norm=True).train(training)
    apply(model, TopK(2), layers=[1], inverse_temperature=2.0)
    before = copy.deepcopy(model.state_dict())
    torch.manual_seed(5)
    drawn = torch.rand(3)
    torch.manual_seed(5)
    assert check(model, numbers()).ok
    assert torch.equal(torch.rand(3), drawn)
    assert all(module.training is training for module in model.modules())
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    points = [module for module in model.modules() if isinstance(module, semfocus.MultiheadAttention)]
    assert [(str(each.pattern), each.inverse_temperature) for each in points] == [
        ("full", 1.0),
        ("top_k(2)", 2.0),
    ]
    assert "2 attention layers found, 1 switched" in repr(apply(model, TopK(2), layers=[1]))


def test_a_model_that_was_not_switched_is_a_problem():
    report = check(encoder(), numbers())
    assert not report.ok
    assert "has no attention by semfocus" in report.problems[0]
    with pytest.raises(ValueError, match=r"call semfocus.apply first"):
        report.raise_for_problems()


class Hidden(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers, self.attend = encoder(), [F.scaled_dot_product_attention]

    def forward(self, x):
        x = self.layers(x)
        return self.attend[0](x, x, x) if self.training else x


def test_a_partial_switch_is_found_with_its_line():
    model = Hidden().train()
    apply(model, TopK(2))
    (problem, *_) = check(model, numbers()).problems
    assert "Hidden (test_check.py:" in problem
    assert "which is not switched" in problem
    assert check(model.eval(), numbers()).ok


def test_too_many_kept_keys_are_found(monkeypatch):
    model = encoder().eval()
    apply(model, TopK(2))
    keep = TopK.keep_rows
    monkeypatch.setattr(TopK, "keep_rows", lambda self, *rest: keep(TopK(self.k + 1), *rest))
    problems = check(model, numbers()).problems
    assert problems[:2] == [
        f"layer {layer} (layers.{layer}.self_attn) kept 3 keys under top_k(2)" for layer in (0, 1)
    ]


def planted(monkeypatch, name, wrong, dtype=torch.float32):
    """A llama whose switch goes through a wrong function."""
    monkeypatch.setattr(of_transformers, name, wrong)
    model = build("llama").to(dtype)
    apply(model, TopK(2))
    parameters = [(each, each.data_ptr()) for each in model.parameters()]
    try:
        return check(model, input_ids=tokens()).problems
    finally:
        assert all(each.dtype == dtype and each.data_ptr() == at for each, at in parameters)
        monkeypatch.undo()
        apply(build("llama"), TopK(2))  # which registers the right functions again


@pytest.mark.hf
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("is_whole", [True, False], ids=["everything", "one token"])
def test_a_leak_is_found(monkeypatch, is_whole, dtype):
    mask = of_transformers.semfocus_mask

    def leaking(*args, **options):
        right = mask(*args, **options)
        return right | True if is_whole else right | F.pad(right, (1, 0))[..., :-1]

    problems = planted(monkeypatch, "semfocus_mask", leaking, dtype)
    assert any("sees the future" in each for each in problems)
    assert any("does not give what the original model gives" in each for each in problems)


@pytest.mark.hf
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_mask_without_the_padding_is_found(monkeypatch, dtype):
    mask = of_transformers.semfocus_mask

    def without_padding(*args, **options):
        return mask(*args, **options | {"attention_mask": None})

    problems = planted(monkeypatch, "semfocus_mask", without_padding, dtype)
    assert any("gives, padded on the left: outputs" in each for each in problems)
    assert not any("sees the future" in each for each in problems)


@pytest.mark.hf
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_no_problem(dtype):
    model = build("llama").to(dtype)
    apply(model, TopK(2))
    config = model.config
    report = check(model, input_ids=tokens())
    assert report.ok, report
    assert not any("single precision" in each for each in report.not_tested)
    assert model.config is config


class Counting(nn.Module):
    """Leaves traces wherever it can, has twelve positions, and may refuse masks."""

    def __init__(self, takes_masks=True):
        super().__init__()
        self.inside, self.takes_masks, self.calls = encoder(), takes_masks, 0
        self.words, self.places = nn.Embedding(50, 16), nn.Embedding(12, 16)
        self.register_buffer("last", torch.zeros(1))

    def forward(self, input_ids, attention_mask=None):
        if attention_mask is not None and not self.takes_masks:
            raise RuntimeError("no masks, please")
        self.calls += 1
        self.last = torch.full((1,), random.random() + numpy.random.rand())
        x = self.words(input_ids) + self.places(torch.arange(input_ids.shape[1]))
        return self.inside(x, src_key_padding_mask=None if attention_mask is None else attention_mask == 0)


@pytest.mark.parametrize("takes_masks", [True, False])
def test_what_a_model_refuses_is_not_tested_and_nothing_is_changed(takes_masks):
    model = Counting(takes_masks).eval()
    apply(model, TopK(2))
    last = model.last
    states = random.getstate(), numpy.random.get_state()[1].tolist()
    report = check(model, input_ids=torch.randint(50, (2, 12 if takes_masks else 8)))
    assert report.ok, report
    assert any("padding on the left: the original model refuses it" in each for each in report.not_tested)
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == states
    assert model.calls == 0
    assert model.last is last


def test_a_layer_that_came_later_is_found_and_the_switch_stays():
    model = encoder().eval()
    apply(model, TopK(2))
    model.layers.append(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True).eval())
    assert not check(model, numbers()).ok
    assert isinstance(model.layers[0].self_attn, semfocus.MultiheadAttention)
    assert str(model.layers[0].self_attn.pattern) == "top_k(2)"


class Calling(nn.Module):
    def forward(self, x):
        return semfocus.attention(x, x, x, TopK(2))


def test_no_attention_is_never_tested():
    with semfocus.sdpa(TopK(2)):
        report = check(nn.Linear(16, 16), numbers())
    assert "computed no attention by semfocus" in report.problems[0]
    assert not any("keeps more keys" in each for each in report.tested)
    report = check(Calling(), numbers())
    assert report.ok, report
    assert any("calls of semfocus.attention" in each for each in report.not_tested)


@pytest.mark.hf
def test_a_cache_that_is_misread_is_found(monkeypatch):
    attend = of_transformers.semfocus_attention

    def misread(module, query, key, value, mask, **options):
        if query.shape[-2] != key.shape[-2]:
            mask = mask.roll(1, -1)
        return attend(module, query, key, value, mask, **options)

    problems = planted(monkeypatch, "semfocus_attention", misread)
    assert len(problems) == 1
    assert "with a cache" in problems[0]
