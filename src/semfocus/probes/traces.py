"""Traces that quantities start from: their checked parts, another pattern on their scores, noise in place of them.

Shapes: scores, kept and weights are (..., Lq, Lk) with rows as queries; leading dimensions are batch and heads.
`counted` is bool and broadcastable to (..., Lq): the queries that take part (no padding). A value that does not
exist, such as the dispersion of a query that keeps no key, is NaN here and counted as missing in a summary.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace, Pattern
from semfocus.mechanisms.reference import softmax_over_kept
from semfocus.probes.noise import gaussian


def checked_scores(trace: AttentionTrace) -> Tensor:
    """The scores, -inf where not allowed; NaN or +inf anywhere is a ValueError that names the layer."""
    if trace.scores.numel() == 0:
        raise ValueError(f"{_place(trace)}: there are no scores, their shape is {tuple(trace.scores.shape)}")
    highest = trace.scores.amax()  # passes NaN on
    if highest.isnan():
        raise ValueError(f"{_place(trace)}: scores are NaN; expected numbers, and -inf where not allowed")
    if highest == torch.inf:
        raise ValueError(f"{_place(trace)}: scores are +inf; expected numbers, and -inf where not allowed")
    return trace.scores


def allowed_keys(trace: AttentionTrace) -> Tensor:
    """bool, like the scores: which keys each query was allowed to see."""
    return checked_scores(trace) > -torch.inf


def highest_among(scores: Tensor, keys: Tensor) -> Tensor:
    """Highest score of these keys, in float64; -inf where there is none."""
    return torch.minimum(scores, _signed_infinity(keys, scores.dtype, torch.inf)).amax(-1).double()


def lowest_among(scores: Tensor, keys: Tensor) -> Tensor:
    """Lowest score of these keys, in float64; +inf where there is none."""
    return torch.maximum(scores, _signed_infinity(keys, scores.dtype, -torch.inf)).amin(-1).double()


def _signed_infinity(keys: Tensor, dtype: torch.dtype, at_keys: float) -> Tensor:
    """`at_keys` at these keys and its negative elsewhere: a third of the time of torch.where with a bool condition."""
    return keys.view(torch.uint8).to(dtype).sub_(0.5).mul_(at_keys)


def weights_of(trace: AttentionTrace) -> Tensor:
    """The weights in float64, NaN in rows that keep nothing."""
    checked_scores(trace)
    return trace.weights.double().masked_fill(~trace.kept.any(-1, keepdim=True), torch.nan)


def counted_rows(tensor: Tensor, counted: Tensor | None) -> Tensor:
    """`tensor` (..., Lq, Lk) with the rows of queries that do not count set to 0."""
    return tensor if counted is None else tensor.masked_fill(~counted.unsqueeze(-1), 0)


def _place(trace: AttentionTrace) -> str:
    return f"layer {trace.layer} ({trace.name})" if trace.name else f"layer {trace.layer}"


@torch.no_grad()
def counterfactual(
    trace: AttentionTrace,
    pattern: Pattern,
    *,
    num_globals: int = 0,
    generator: torch.Generator | None = None,
) -> AttentionTrace:
    """The trace with the keys and weights of `pattern`, selected and normalised as the reference does.

    `num_globals` is the number of global tokens at the end of the trace's sequences; `generator` feeds `Random`.
    """
    refuse_meaningless(pattern, num_globals)
    allowed = allowed_keys(trace)
    kept = (pattern.keep(trace.scores, allowed, generator) & allowed).expand(trace.scores.shape)
    return replace(trace, kept=kept, weights=softmax_over_kept(trace.scores, kept, None))


def refuse_meaningless(pattern: Pattern, num_globals: int) -> None:
    """Global tokens and patterns of positions mean something only where the sequence has the right tokens."""
    wanted = pattern.global_tokens()
    if wanted and wanted != num_globals:
        raise ValueError(
            f"{pattern} needs sequences that end in {wanted} global token{'s' * (wanted > 1)}; these end in {num_globals}, "
            "and ordinary tokens cannot stand in for them"
        )
    if num_globals and not wanted and pattern.family == "input-agnostic":
        raise ValueError(
            f"{pattern} counts positions, and the last {num_globals} of these sequences are global tokens without "
            f"a place in the order: use {pattern}+G{num_globals}"
        )


def gaussian_twin(trace: AttentionTrace, first: int = 0, seed: int = 0) -> AttentionTrace:
    """The trace with independent normal scores: each query has the mean and the standard deviation it had.

    The same keys are allowed. Kept keys and weights are still those of the old scores: give the twin to
    `counterfactual`. `first` is the number of the trace's first sequence, so that chunks do not matter.
    """
    allowed = allowed_keys(trace)
    scores = trace.scores.double().masked_fill(~allowed, 0.0)
    num = allowed.sum(-1, keepdim=True).clamp(min=1)
    mean = scores.sum(-1, keepdim=True) / num
    deviations = (scores - mean).masked_fill(~allowed, 0.0)
    spread = (deviations.square().sum(-1, keepdim=True) / num).sqrt()
    noise = gaussian(scores.shape, first, seed, f"twin/{trace.layer}", scores.device)
    twin = (mean + spread * noise).masked_fill(~allowed, -torch.inf)
    return replace(trace, scores=twin)


@dataclass(frozen=True)
class AttentionMap:
    """One sequence and head: (Lq, Lk) each, rows are queries; scores are -inf where not allowed."""

    layer: int
    sample: int
    head: int
    scores: Tensor
    weights: Tensor
    kept: Tensor


def attention_map(trace: AttentionTrace, sample: int, head: int = 0) -> AttentionMap:
    """The map of a sequence and head, counted from 0; scores and weights in float64."""
    scores = checked_scores(trace)
    if scores.dim() != 4:
        raise ValueError(f"a map needs a trace of (batch, heads, Lq, Lk), got {tuple(scores.shape)}")
    for what, index, size in (("sample", sample, scores.shape[0]), ("head", head, scores.shape[1])):
        if not 0 <= index < size:
            raise ValueError(f"layer {trace.layer} has {size} of {what}, counted from 0; got {index}")
    parts = (scores[sample, head].double(), trace.weights[sample, head].double(), trace.kept[sample, head])
    return AttentionMap(trace.layer, sample, head, *(each.clone() for each in parts))
