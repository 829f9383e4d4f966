"""The Gaussian null: what a quantity is where the scores are noise and nothing was learned."""

from dataclasses import replace

import torch

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.noise import gaussian
from semfocus.probes.trace_parts import allowed_keys


def gaussian_twin(trace: AttentionTrace, first: int = 0, seed: int = 0) -> AttentionTrace:
    """The trace with independent normal scores: each query has the mean and the standard deviation it had.

    The same keys are allowed. Kept keys and weights are still those of the old scores: give the twin to
    `counterfactual`. `first` is the number of the trace's first sequence, so that chunks do not matter.
    """
    allowed = allowed_keys(trace)
    scores = trace.scores.double().masked_fill(~allowed, 0.0)
    num = allowed.sum(-1, keepdim=True).clamp(min=1)
    mean = scores.sum(-1, keepdim=True) / num
    deviations = (scores - mean).masked_fill(~allowed, 0.0)
    spread = (deviations.square().sum(-1, keepdim=True) / num).sqrt()
    noise = gaussian(scores.shape, first, seed, f"twin/{trace.layer}", scores.device)
    twin = (mean + spread * noise).masked_fill(~allowed, -torch.inf)
    return replace(trace, scores=twin)
