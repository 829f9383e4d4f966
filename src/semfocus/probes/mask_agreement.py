"""Mask agreement: the share of kept keys that stay kept when noise is added to the embeddings."""

from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.trace_parts import checked_scores

#: standard deviations of the noise, in units of the root mean square of the embedding's entries
NOISE_SIZES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1)


def mask_agreement(trace: AttentionTrace, noisy: AttentionTrace) -> Tensor:
    """(..., Lq): |kept in both| / |kept without noise|; NaN where no key is kept."""
    checked_scores(trace)
    checked_scores(noisy)
    if trace.kept.shape != noisy.kept.shape:
        shapes = tuple(trace.kept.shape), tuple(noisy.kept.shape)
        raise ValueError(f"mask agreement needs two traces of the same sequences, got shapes {shapes}")
    return (trace.kept & noisy.kept).sum(-1).double() / trace.kept.sum(-1)
