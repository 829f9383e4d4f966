"""What one head saw in one sequence, for drawing."""

from dataclasses import dataclass

from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores


@dataclass(frozen=True)
class AttentionMap:
    """One sequence and head: (Lq, Lk) each, rows are queries; scores are -inf where not allowed."""

    layer: int
    sample: int
    head: int
    scores: Tensor
    weights: Tensor
    kept: Tensor


def attention_map(trace: AttentionTrace, sample: int, head: int = 0) -> AttentionMap:
    """The map of a sequence and head, counted from 0; scores and weights in float64."""
    scores = checked_scores(trace)
    if scores.dim() != 4:
        raise ValueError(f"a map needs a trace of (batch, heads, Lq, Lk), got {tuple(scores.shape)}")
    for what, index, size in (("sample", sample, scores.shape[0]), ("head", head, scores.shape[1])):
        if not 0 <= index < size:
            raise ValueError(f"layer {trace.layer} has {size} of {what}, counted from 0; got {index}")
    parts = (scores[sample, head].double(), trace.weights[sample, head].double(), trace.kept[sample, head])
    return AttentionMap(trace.layer, sample, head, *(each.clone() for each in parts))
