"""Key load: how many queries keep a key, over how many keys a query keeps."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores, counted_rows


def key_degree(trace: AttentionTrace, counted: Tensor | None = None) -> Tensor:
    """(..., Lk): the number of queries that keep a key (βk in the paper's table), in float64."""
    checked_scores(trace)
    # A column sum of bytes in int32: the default, int64, takes twice as long.
    return counted_rows(trace.kept, counted).sum(-2, dtype=torch.int32).double()


def key_load(trace: AttentionTrace, counted: Tensor | None = None, k: float | None = None) -> Tensor:
    """(..., Lk): key degree over k.

    Without a given k it is the mean number of keys that a query of this sequence and head keeps, over the queries that
    keep any: top_k(5) has k = 5, and patterns without a size have a k too. So the mean load is 1 where there are as many
    keys as queries. NaN where nothing is kept at all.
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
