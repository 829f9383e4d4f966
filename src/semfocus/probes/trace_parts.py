"""The parts of a trace that every quantity starts from, checked.

Shapes: scores, kept and weights are (..., Lq, Lk) with rows as queries; leading dimensions are batch and heads.
`counted` is bool and broadcastable to (..., Lq): the queries that take part (no padding). A value that does not
exist, such as the dispersion of a query that keeps no key, is NaN here and counted as missing in a summary.
"""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace


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
