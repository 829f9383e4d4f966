"""Focus: how much attention goes to the tokens that decide the label, against chance.

`relevant` is bool and broadcastable to (..., Lq, Lk), such as (batch, 1, 1, Lk).
"""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.traces import allowed_keys, checked_scores, weights_of


def focus_mass(trace: AttentionTrace, relevant: Tensor) -> Tensor:
    """(..., Lq): attention mass on the relevant tokens; NaN where no key is kept."""
    return torch.where(relevant, weights_of(trace), 0.0).sum(-1).masked_fill(~trace.kept.any(-1), torch.nan)


def focus_share(trace: AttentionTrace, relevant: Tensor) -> Tensor:
    """(..., Lq): share of the kept keys that are relevant; NaN where no key is kept."""
    checked_scores(trace)
    return _share(trace.kept, relevant)


def focus_chance(trace: AttentionTrace, relevant: Tensor) -> Tensor:
    """(..., Lq): share of the allowed keys that are relevant: what uniform or random attention would give."""
    return _share(allowed_keys(trace), relevant)


def _share(keys: Tensor, relevant: Tensor) -> Tensor:
    # 0 / 0 is NaN: missing.
    return (keys & relevant).sum(-1).double() / keys.sum(-1)
