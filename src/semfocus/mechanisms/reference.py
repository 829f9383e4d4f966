"""The definition of attention under a pattern: dense, slow, obvious, differentiable twice.

In this order: scores (clipped, if that is asked for); what is allowed; what the pattern keeps of it; softmax
over the kept; dropout; sum of the kept values. Every faster implementation is tested against this file.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from semfocus.kernels.onlookers import numbers_are_hidden
from semfocus.mechanisms.call import AttentionCall, AttentionInfo, without_autocast
from semfocus.randomness import drop

ScoreChange = Callable[[Tensor], Tensor]


def reference_attention(
    call: AttentionCall, change: ScoreChange | None = None, sink: Tensor | None = None
) -> tuple[Tensor, AttentionInfo]:
    """Output (..., Lq, dv) in the dtype of the query, and what was seen on the way.

    change: what is done to the scaled scores before anything is masked or kept, instead of what the call says.
    sink: a score, broadcastable to (..., Lq, 1), that takes its share of the softmax and gives no value.
    """
    with without_autocast(call.query.device):
        # Contiguous, so that products sum in one order whatever the layout of the inputs.
        query, key, value = (
            at_least_float32(each).contiguous() for each in (call.query, call.key, call.value)
        )
        allowed = call.allowed()

        scores = allowed_scores(query, key, call.scale, allowed, change or change_of(call))
        scores = scores.expand(*call.batch_shape, *scores.shape[-2:])
        with torch.no_grad():
            kept = call.pattern.keep(scores, allowed, call.generator) & allowed

        has_nan = rows_with_nan(scores)
        weights = softmax_over_kept(scores, kept, has_nan, sink)
        output = sum_of_kept(drop(weights, call.dropout, call.generator), kept, value, has_nan)
        return output.to(call.query.dtype), AttentionInfo(scores, kept.expand(scores.shape), weights)


def change_of(call: AttentionCall) -> ScoreChange | None:
    """What a call does to its scaled scores."""
    return (lambda scores: changed(scores, call.softcap, call.bias)) if call.is_changed else None


def changed(scores: Tensor, softcap: float | None, bias: Tensor | None) -> Tensor:
    """softcap * tanh(score / softcap), + bias."""
    if softcap is not None:
        scores = softcap * torch.tanh(scores / softcap)
    return scores if bias is None else scores + bias


def at_least_float32(tensor: Tensor) -> Tensor:
    """Half precision as float32, everything else as it is."""
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def allowed_scores(
    query: Tensor, key: Tensor, scale: float, allowed: Tensor, change: ScoreChange | None = None
) -> Tensor:
    """Scaled products of queries and keys, changed if so wished, -inf where not allowed."""
    scores = _products(query, key) * scale
    return (scores if change is None else change(scores)).masked_fill(~allowed, -torch.inf)


def rows_with_nan(scores: Tensor) -> Tensor | None:
    """Which rows hold a NaN score of an allowed key, as a column; None if surely none does."""
    if numbers_are_hidden(scores) or scores.detach().sum().isnan():
        return scores.isnan().any(-1, keepdim=True)
    return None


def softmax_over_kept(
    scores: Tensor, kept: Tensor, has_nan: Tensor | None, sink: Tensor | None = None
) -> Tensor:
    """Softmax over the kept keys of each row; exactly 0 elsewhere, and in a row that keeps nothing."""
    nothing_kept = ~kept.any(-1, keepdim=True)
    visible = scores.masked_fill(~kept, -torch.inf).masked_fill(nothing_kept, 0.0)
    if sink is None:
        weights = visible.softmax(-1)
    else:
        column = sink.to(scores.dtype).expand(*scores.shape[:-1], 1)
        weights = torch.cat([visible, column], dim=-1).softmax(-1)[..., :-1]
    weights = weights.masked_fill(~kept, 0.0)
    return weights if has_nan is None else weights.masked_fill(has_nan & kept, torch.nan)


def sum_of_kept(weights: Tensor, kept: Tensor, value: Tensor, has_nan: Tensor | None) -> Tensor:
    """Weighted sum of the kept values; a value that is not kept never enters, not even as 0 * NaN."""
    if _surely_finite(value):
        output = weights @ value
    else:
        touched = kept.to(weights.dtype) @ (~value.isfinite()).to(weights.dtype) > 0
        output = weights @ _finite(value)
        output = output + torch.zeros_like(output).masked_fill(touched, torch.nan)
    # A NaN score of an allowed key makes its row NaN even where the pattern did not keep that key.
    return output if has_nan is None else output.masked_fill(has_nan, torch.nan)


def _products(query: Tensor, key: Tensor) -> Tensor:
    """All products of queries and keys.

    Entries that are not finite enter the scores but not the product that gradients flow through: in
    the backward pass 0 * NaN would be NaN for queries that may not even see such a key. The product
    runs on the same shapes either way, so a NaN that nobody may see changes no bit anywhere.
    """
    if _surely_finite(query) and _surely_finite(key):
        return query @ key.transpose(-2, -1)
    scores = _finite(query) @ _finite(key).transpose(-2, -1)
    with torch.no_grad():
        exact = query @ key.transpose(-2, -1)
    return torch.where(exact.isfinite(), scores, exact)


def _finite(tensor: Tensor) -> Tensor:
    return tensor.masked_fill(~tensor.isfinite(), 0.0)


def _surely_finite(tensor: Tensor) -> bool:
    """One cheap look: whatever is not finite shows in the sum (as does an overflow, which harms nothing).

    Nothing is sure of numbers that are hidden, as they are while torch.compile traces.
    """
    return not numbers_are_hidden(tensor) and bool(tensor.detach().sum().isfinite())
