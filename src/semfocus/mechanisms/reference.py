"""The definition of attention under a pattern: dense, slow, obvious, differentiable twice.

In this order: scores; what is allowed; what the pattern keeps of it; softmax over the kept; dropout;
sum of the kept values. Every faster implementation is tested against this file.
"""

import torch
from torch import Tensor

from semfocus.mechanisms.call import AttentionCall, AttentionInfo
from semfocus.randomness import drop


def reference_attention(call: AttentionCall) -> tuple[Tensor, AttentionInfo]:
    """Output (..., Lq, dv) in the dtype of the query, and what was seen on the way."""
    # Contiguous, so that products sum in one order whatever the layout of the inputs.
    query, key, value = (_at_least_float32(each).contiguous() for each in (call.query, call.key, call.value))
    allowed = call.allowed()

    scores = (_scores(query, key) * call.scale).masked_fill(~allowed, -torch.inf)
    scores = scores.expand(*call.batch_shape, *scores.shape[-2:])
    with torch.no_grad():
        kept = call.pattern.keep(scores, allowed, call.generator) & allowed

    weights = _softmax_over_kept(scores, kept)
    has_nan = scores.isnan().any(-1, keepdim=True) if scores.detach().sum().isnan() else None
    if has_nan is not None:
        weights = weights.masked_fill(has_nan & kept, torch.nan)
    output = _sum_of_kept(drop(weights, call.dropout, call.generator), kept, value)
    if has_nan is not None:
        # A NaN score of an allowed key makes its row NaN even where the pattern did not keep that key.
        output = output.masked_fill(has_nan, torch.nan)
    return output.to(call.query.dtype), AttentionInfo(scores, kept.expand(scores.shape), weights)


def _at_least_float32(tensor: Tensor) -> Tensor:
    return tensor.float() if tensor.dtype in (torch.float16, torch.bfloat16) else tensor


def _scores(query: Tensor, key: Tensor) -> Tensor:
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


def _softmax_over_kept(scores: Tensor, kept: Tensor) -> Tensor:
    """Softmax over the kept keys of each row; exactly 0 elsewhere, and in a row that keeps nothing."""
    nothing_kept = ~kept.any(-1, keepdim=True)
    visible = scores.masked_fill(~kept, -torch.inf).masked_fill(nothing_kept, 0.0)
    return visible.softmax(-1).masked_fill(~kept, 0.0)


def _sum_of_kept(weights: Tensor, kept: Tensor, value: Tensor) -> Tensor:
    """Weighted sum of the kept values; a value that is not kept never enters, not even as 0 * NaN."""
    if _surely_finite(value):
        return weights @ value
    touched = kept.to(weights.dtype) @ (~value.isfinite()).to(weights.dtype) > 0
    output = weights @ _finite(value)
    return output + torch.zeros_like(output).masked_fill(touched, torch.nan)


def _finite(tensor: Tensor) -> Tensor:
    return tensor.masked_fill(~tensor.isfinite(), 0.0)


def _surely_finite(tensor: Tensor) -> bool:
    """One cheap look: whatever is not finite shows in the sum (as does an overflow, which harms nothing)."""
    return bool(tensor.detach().sum().isfinite())
