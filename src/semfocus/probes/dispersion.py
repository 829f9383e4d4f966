"""Dispersion δ: the range of the scores that the softmax of a query sees."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import allowed_keys, checked_scores, highest_among, lowest_among


def dispersion(trace: AttentionTrace) -> Tensor:
    """(..., Lq): highest minus lowest kept score; 0 with one kept key, NaN with none."""
    return _range(checked_scores(trace), trace.kept)


def dispersion_of_allowed(trace: AttentionTrace) -> Tensor:
    """(..., Lq): what full attention would see on the same scores: highest minus lowest allowed score."""
    return _range(trace.scores, allowed_keys(trace))


def dispersion_ratio(trace: AttentionTrace) -> Tensor:
    """(..., Lq): c1 = dispersion of the kept over that of all allowed scores; NaN where all of them are equal."""
    return dispersion(trace) / _positive(dispersion_of_allowed(trace))


def _range(scores: Tensor, keys: Tensor) -> Tensor:
    highest = highest_among(scores, keys)
    return (highest - lowest_among(scores, keys)).masked_fill(highest == -torch.inf, torch.nan)


def _positive(divisor: Tensor) -> Tensor:
    return divisor.masked_fill(divisor <= 0, torch.nan)
