"""Received mass: the attention that arrives at a key."""

from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores, counted_rows


def received_mass(trace: AttentionTrace, counted: Tensor | None = None) -> Tensor:
    """(..., Lk): sum over the queries of the weight they give to a key, in float64; 0 where none keeps it."""
    checked_scores(trace)
    return counted_rows(trace.weights.double(), counted).sum(-2)


def largest_received_mass(trace: AttentionTrace, counted: Tensor | None = None) -> Tensor:
    """(...): C, the largest received mass of a key in each sequence and head."""
    return received_mass(trace, counted).amax(-1)
