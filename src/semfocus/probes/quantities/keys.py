"""Quantities of the kept keys: how many, how often, how much attention they get, and whether noise changes them."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.traces import checked_scores, counted_rows


def num_kept(trace: AttentionTrace) -> Tensor:
    """(..., Lq): in float64; 0 where none is allowed."""
    checked_scores(trace)
    return trace.kept.sum(-1).double()


def key_degree(trace: AttentionTrace, counted: Tensor | None = None) -> Tensor:
    """(..., Lk): the number of queries that keep a key (βk in the paper's table), in float64."""
    checked_scores(trace)
    # A column sum of bytes in int32: the default, int64, takes twice as long.
    return counted_rows(trace.kept, counted).sum(-2, dtype=torch.int32).double()


def key_load(trace: AttentionTrace, counted: Tensor | None = None, k: float | None = None) -> Tensor:
    """(..., Lk): key degree over k.

    Without a given k it is the mean number of keys that a query of this sequence and head keeps, over the queries that
    keep any: top_k(5) has k = 5, and patterns without a size have a k too. So the mean load is 1 where there
    are as many keys as queries. NaN where nothing is kept at all.
    """
    degree = key_degree(trace, counted)
    if k is not None:
        return degree / k
    # Bytes have a faster maximum than bools have an `any`.
    keeping = counted_rows(trace.kept, counted).view(torch.uint8).amax(-1).sum(-1, keepdim=True)
    return degree * keeping / degree.sum(-1, keepdim=True)


def largest_key_load(trace: AttentionTrace, counted: Tensor | None = None, k: float | None = None) -> Tensor:
    """(...): β, the largest load of a key in each sequence and head."""
    return key_load(trace, counted, k).amax(-1)


def received_mass(trace: AttentionTrace, counted: Tensor | None = None) -> Tensor:
    """(..., Lk): sum over the queries of the weight they give to a key, in float64; 0 where none keeps it."""
    checked_scores(trace)
    return counted_rows(trace.weights.double(), counted).sum(-2)


def largest_received_mass(trace: AttentionTrace, counted: Tensor | None = None) -> Tensor:
    """(...): C, the largest received mass of a key in each sequence and head."""
    return received_mass(trace, counted).amax(-1)


def retained_mass(trace: AttentionTrace) -> Tensor:
    """(..., Lq): the share of the softmax over all allowed keys that lies on the kept ones; NaN with none kept."""
    scores = checked_scores(trace).double()
    nothing_kept = ~trace.kept.any(-1)
    kept = torch.where(trace.kept, scores, -torch.inf).logsumexp(-1)
    return (kept - scores.logsumexp(-1)).exp().masked_fill(nothing_kept, torch.nan)


def mask_agreement(trace: AttentionTrace, noisy: AttentionTrace) -> Tensor:
    """(..., Lq): |kept in both| / |kept without noise|; NaN where no key is kept."""
    checked_scores(trace)
    checked_scores(noisy)
    if trace.kept.shape != noisy.kept.shape:
        shapes = tuple(trace.kept.shape), tuple(noisy.kept.shape)
        raise ValueError(f"mask agreement needs two traces of the same sequences, got shapes {shapes}")
    return (trace.kept & noisy.kept).sum(-1).double() / trace.kept.sum(-1)
