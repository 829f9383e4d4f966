"""Retained mass: what full attention on the same scores would give to the kept keys."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores


def retained_mass(trace: AttentionTrace) -> Tensor:
    """(..., Lq): the share of the softmax over all allowed keys that lies on the kept ones; NaN with none kept."""
    scores = checked_scores(trace).double()
    nothing_kept = ~trace.kept.any(-1)
    kept = torch.where(trace.kept, scores, -torch.inf).logsumexp(-1)
    return (kept - scores.logsumexp(-1)).exp().masked_fill(nothing_kept, torch.nan)
