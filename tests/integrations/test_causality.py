"""No causal model of transformers sees later tokens after `apply`: every family that a tiny config builds."""

from collections import Counter

import pytest
import torch

from semfocus import TopK, apply, restore
from tests.integrations.tiny_configs import (
    FIRST_SPECIAL,
    NotBuiltError,
    tiny_config,
    tiny_model,
    transformers,
)

pytestmark = pytest.mark.hf

CAUSAL = list(transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES)
#: run by default: models that compute with the mask they are given, additive (no SDPA) or boolean, and plain ones
SIX = ["deepseek_v4", "gemma2", "gpt_oss", "llama", "mixtral", "qwen4_exp_text"]
FAMILIES = [
    pytest.param(name, marks=[] if name in SIX else pytest.mark.slow)
    for name in (*SIX, *sorted(set(CAUSAL) - {*SIX}))
]
#: of these the stock model itself overflows in double precision
FLOAT32_ONLY = {"xglm"}

LENGTH = 16
#: from where on the later rows of a batch differ from its first; inside and at the end of blocks of four
CHANGES = (5, 8, 10)
#: relative to the largest logit; a leak is of order one, and equal rows of one batch differ by rounding at the most
TOLERANCE = 1e-5


def tokens(num=1, seed=1):
    return torch.randint(4, FIRST_SPECIAL, (num, LENGTH), generator=torch.Generator().manual_seed(seed))


def batch():
    """One sequence, and the same with later tokens changed, all of them, from each place of `CHANGES` on."""
    rows = tokens().repeat(1 + len(CHANGES), 1)
    for row, start in enumerate(CHANGES, 1):
        rows[row, start:] = 4 + (rows[row, start:] + 7) % (FIRST_SPECIAL - 4)
    return rows


def logits(model, **inputs):
    with torch.no_grad():
        found = model(**inputs or {"input_ids": batch()}).logits
    return found[0] if isinstance(found, tuple) else found


def largest_move(found):
    """How far changes move what comes before them, and what comes after, relative to the largest logit."""
    pairs = [
        (found[0, :start] - found[row, :start], found[0, start:] - found[row, start:])
        for row, start in enumerate(CHANGES, 1)
    ]
    scale = found.abs().max()
    return [float(max(each.abs().max() for each in side) / scale) for side in zip(*pairs, strict=True)]


def build(name, dtype=None):
    """A stock model with large weights, so that every key matters; NotBuiltError says why there is none."""
    auto = transformers.models.auto
    config_class = auto.configuration_auto.CONFIG_MAPPING[name]
    model_class = auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING[config_class]
    config = tiny_config(config_class, initializer_range=0.3, init_std=0.3, is_decoder=True)
    return tiny_model(
        model_class, config, dtype or (torch.float32 if name in FLOAT32_ONLY else torch.float64)
    )


def built(name):
    """A stock model that reads a text, and its logits."""
    model = build(name)
    try:
        return model, logits(model)
    except Exception as error:
        raise NotBuiltError(f"{type(model).__name__} reads no text alone: {error}") from error


@pytest.mark.parametrize("name", FAMILIES)
def test_no_pattern_shows_a_model_later_tokens(name):
    try:
        model, stock = built(name)
    except NotBuiltError as error:
        if name in SIX:
            raise
        pytest.skip(str(error))
    assert stock.isfinite().all()
    before, after = largest_move(stock)
    assert after > 1e-2, "the changes must matter"
    if before > TOLERANCE:
        pytest.skip(
            f"the stock {type(model).__name__} is not causal: later tokens move logits by {before:.2g}"
        )

    config = model.config.to_dict(), model.config._attn_implementation
    for pattern in ("full", TopK(3)):
        try:
            apply(model, pattern)
        except ValueError:
            assert name not in SIX  # others may be refused, and are left as they were
        else:
            found = logits(model)
            assert largest_move(found)[0] < TOLERANCE, f"{pattern} sees later tokens"
            changed = float((found - stock).abs().max() / stock.abs().max())
            assert (changed < 1e-4) == (pattern == "full"), f"{pattern} moves logits by {changed:.2g}"
            restore(model)
        assert torch.equal(logits(model), stock)
        assert (model.config.to_dict(), model.config._attn_implementation) == config
        assert not any(module._forward_pre_hooks for module in model.modules())


@pytest.mark.slow
def test_most_families_are_looked_at():
    """Prints, with `pytest -s`, how many are built, switched and refused."""
    numbers, reasons = Counter(families=len(CAUSAL)), []
    for name in CAUSAL:
        try:
            model, _ = built(name)
            numbers["built"] += 1
            apply(model, TopK(3))
            numbers["switched"] += 1
        except NotBuiltError as error:
            reasons.append(f"{name}: {error}")
        except ValueError:
            numbers["refused"] += 1
    print(dict(numbers), *reasons, sep="\n")
    assert len(reasons) < len(CAUSAL) / 20, "\n".join(reasons)
    assert numbers["switched"] > len(CAUSAL) / 2


NO_SDPA = ["deepseek_v4", "gpt_oss", "mimo_v2_flash"]


@pytest.mark.parametrize("name", NO_SDPA)
def test_masks_cannot_be_exchanged_after_apply(name):
    """With boolean masks DeepSeek-V4 would see later tokens."""
    model = build(name)
    apply(model, TopK(3))
    model.set_attn_implementation("semfocus")
    with pytest.raises(ValueError, match=r"not 'semfocus_additive'"):
        logits(model)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", NO_SDPA)
def test_additive_masks_hold_for_padding(name, side):
    model = build(name, torch.float32)  # in double precision, rows of padding overflow in stock models
    mask = torch.ones(2, LENGTH, dtype=torch.long)
    mask[1, slice(0, 5) if side == "left" else slice(-5, None)] = 0
    inputs = {"input_ids": tokens(2), "attention_mask": mask}
    stock = logits(model, **inputs)[mask.bool()]
    apply(model, "full")
    found = logits(model, **inputs)[mask.bool()]
    torch.testing.assert_close(found, stock, atol=1e-4 * float(stock.abs().max()), rtol=0)


@pytest.mark.parametrize("pattern", ["full", TopK(3)], ids=str)
@pytest.mark.parametrize("name", NO_SDPA)
def test_additive_masks_hold_for_caches(name, pattern):
    """Step by step a mask is shorter than the keys, and DeepSeek-V4 extends it with zeros."""
    model = build(name)
    apply(model, pattern)
    whole = logits(model, input_ids=tokens(2))
    cache, steps = None, []
    for part in tokens(2).split([9, *[1] * (LENGTH - 9)], dim=1):
        with torch.no_grad():
            output = model(input_ids=part, past_key_values=cache, use_cache=True)
        cache = output.past_key_values
        steps.append(output.logits)
    torch.testing.assert_close(torch.cat(steps, 1), whole, atol=1e-4 * float(whole.abs().max()), rtol=0)


def test_masks_are_additive_where_a_model_declares_no_sdpa():
    from transformers.masking_utils import bidirectional_mask_function, causal_mask_function

    from semfocus.integrations.hugging_face.attention import additive_mask

    for name, implementation in (("gemma2", "semfocus_additive"), ("llama", "semfocus")):
        model = build(name)
        apply(model, TopK(3))
        assert model.config._attn_implementation == implementation
    for function in (causal_mask_function, bidirectional_mask_function):
        options = {
            "mask_function": function,
            "allow_is_causal_skip": True,
            "allow_is_bidirectional_skip": True,
        }
        mask = additive_mask(batch_size=2, q_length=4, kv_length=4, dtype=torch.float16, **options)
        expected = torch.zeros(4, 4, dtype=torch.float16)
        if function is causal_mask_function:
            expected.masked_fill_(~torch.ones(4, 4).tril().bool(), torch.finfo(torch.float16).min)
        assert mask.shape == (2, 1, 4, 4)
        assert torch.equal(mask[1, 0], expected)


@pytest.mark.parametrize("name", NO_SDPA)
def test_a_boolean_mask_of_the_user_is_refused_where_a_model_computes_with_it(name):
    model = build(name)
    allowed = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril().expand(2, 1, -1, -1)
    inputs = {"input_ids": tokens(2), "use_cache": False}
    apply(model, TopK(3))
    with pytest.raises(ValueError, match="give a float mask"):
        logits(model, attention_mask=allowed, **inputs)
    added = torch.zeros(2, 1, LENGTH, LENGTH, dtype=torch.float64).masked_fill(~allowed, -torch.inf)
    logits(model, attention_mask=added, **inputs)
