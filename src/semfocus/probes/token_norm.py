"""Token norm Ξ: the length of the vectors that come into attention."""

from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores


def token_norm(trace: AttentionTrace) -> Tensor:
    """(batch, L): l2 norm of every attention input, in float64; Ξ is its largest value."""
    checked_scores(trace)
    return trace.inputs.double().norm(dim=-1)
