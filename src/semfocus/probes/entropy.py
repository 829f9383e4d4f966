"""Attention entropy, and the number of keys that a query effectively attends to."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import weights_of


def entropy(trace: AttentionTrace) -> Tensor:
    """(..., Lq): -Σ p log p in nats; NaN where no key is kept."""
    return torch.special.entr(weights_of(trace)).sum(-1)


def effective_keys(trace: AttentionTrace) -> Tensor:
    """(..., Lq): e to the entropy, from 1 (one key has it all) to the number of kept keys (all equal)."""
    return entropy(trace).exp()


def participation(trace: AttentionTrace) -> Tensor:
    """(..., Lq): the inverse participation ratio 1 / Σ p², another count of keys, which large weights rule."""
    return 1.0 / weights_of(trace).square().sum(-1)
