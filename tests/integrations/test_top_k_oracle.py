"""top_k(3) of switched families is stock eager attention with the softmax over the three largest scores."""

import contextlib
import sys
from collections import Counter

import pytest
import torch
import torch.nn.functional as F

from semfocus import apply, restore
from semfocus.integrations.verification import _tensors, distance
from tests.integrations.survey import build, families, first_that_runs
from tests.integrations.tiny_configs import NotBuiltError

pytestmark = pytest.mark.hf

K = 3
#: with gradients too; sinks, softcap, position bias, sliding windows, grouped heads, two sequences, images
SAMPLE = ["bart", "bert", "clip", "gemma2", "gpt2", "gpt_oss", "llama", "mixtral", "siglip", "t5", "vit"]
#: relative to the largest output; some models compute parts in single precision
TOLERANCE = 1e-4


def largest(scores):
    """The scores with all but the largest of each row forbidden; of equal ones the first are kept, as in ours."""
    kept = scores.sort(dim=-1, descending=True, stable=True).indices[..., :K]
    return torch.full_like(scores, -torch.inf).scatter(-1, kept, scores.gather(-1, kept))


@contextlib.contextmanager
def eager_top_k():
    """Softmaxes in functions that compute attention are over the largest scores; yields a list of their callers."""
    softmax, logsumexp, callers = F.softmax, torch.logsumexp, []

    def selected(scores, frame):
        """Sinks that stand behind the last key are no keys: they take part beside the largest."""
        named = (frame.f_locals.get(name) for name in ("key_states", "key"))
        split = (key.shape[-2] for key in named if key is not None and key.dim() == 4)  # into heads
        keys = next(split, scores.shape[-1])
        return torch.cat([largest(scores[..., :keys]), scores[..., keys:]], dim=-1)

    def is_attention(frame):
        names = frame.f_code.co_name, type(frame.f_locals.get("self")).__name__
        return any("att" in each.lower() for each in names)

    def patched_softmax(scores, dim=-1, *args, **options):
        frame = sys._getframe(1)
        if not is_attention(frame) or dim not in (-1, 3):
            return softmax(scores, dim, *args, **options)
        callers.append(frame.f_code.co_name)
        return softmax(selected(scores, frame), dim=-1)  # in the precision that it comes in

    def patched_logsumexp(scores, dim, **options):
        frame = sys._getframe(1)
        return logsumexp(selected(scores, frame) if is_attention(frame) else scores, dim, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(F, "softmax", patched_softmax)
        patch.setattr(torch, "softmax", patched_softmax)
        patch.setattr(torch, "logsumexp", patched_logsumexp)
        yield callers


class NotComparedError(Exception):
    """Why a family has no oracle."""


def outputs(model, inputs, gradients):
    torch.manual_seed(0)
    with torch.set_grad_enabled(gradients):
        found = _tensors(model(**inputs))
    if not gradients:
        return found
    leaves = [each for each in model.parameters() if each.requires_grad]
    loss = sum(each.square().sum() for each in found if each.requires_grad)
    derivatives = torch.autograd.grad(loss, leaves, allow_unused=True, materialize_grads=True)
    return [*(each.detach() for each in found), torch.cat([each.flatten() for each in derivatives])]


def compared(family, gradients=False):
    """How far ours is from the oracle, and the oracle from full attention, relative to the largest output."""
    try:
        model = build(family, initializer_range=0.3, init_std=0.3)
    except NotBuiltError as error:
        raise NotComparedError("not built") from error
    inputs, _ = first_that_runs(model)
    if inputs is None:
        raise NotComparedError("not run")
    if "pixel_values" in inputs and inputs["pixel_values"].shape[-1] > 256:
        raise NotComparedError("a matrix of all scores takes gigabytes")
    try:
        apply(model, f"top_k({K})")
    except ValueError as error:
        raise NotComparedError("not switched") from error
    ours = outputs(model, inputs, gradients)
    apply(model, "full")
    full = outputs(model, inputs, gradients)
    restore(model)
    try:
        model.set_attn_implementation("eager")
        eager = outputs(model, inputs, gradients)
    except Exception as error:
        raise NotComparedError("no eager attention") from error
    if distance(full, eager) > TOLERANCE:
        raise NotComparedError("its eager attention is not its SDPA, which full attention of ours equals")
    with eager_top_k() as callers:
        expected = outputs(model, inputs, gradients)
    if not callers:
        raise NotComparedError("no softmax in its eager attention")
    return distance(ours, expected), distance(full, expected)


@pytest.mark.parametrize("family", SAMPLE)
def test_outputs_and_gradients_of_a_sample(family):
    apart, matters = compared(family, gradients=True)
    assert apart < TOLERANCE
    assert matters > 10 * TOLERANCE


@pytest.mark.slow
def test_outputs_of_all_families():
    """Prints, with `pytest -s`, how many are compared."""
    numbers, wrong = Counter(), []
    for family in families():
        try:
            apart, matters = compared(family)
        except NotComparedError as error:
            numbers[str(error)] += 1
            continue
        numbers["compared"] += 1
        numbers["compared, and the pattern matters"] += matters > 10 * TOLERANCE
        if apart > TOLERANCE:
            wrong.append(f"{family}: apart by {apart:.2g}")
    print(dict(numbers))
    assert not wrong, "\n".join(wrong)
    assert numbers["compared, and the pattern matters"] > 280
