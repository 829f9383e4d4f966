"""The number of keys that a query keeps."""

from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores


def num_kept(trace: AttentionTrace) -> Tensor:
    """(..., Lq): in float64; 0 where none is allowed."""
    checked_scores(trace)
    return trace.kept.sum(-1).double()
