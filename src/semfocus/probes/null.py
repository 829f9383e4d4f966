"""The Gaussian null: what a quantity is where the scores are noise and nothing was learned."""

from dataclasses import replace

import torch

from semfocus.mechanisms import AttentionTrace, Random, TopK
from semfocus.probes.counterfactual import counterfactual
from semfocus.probes.dispersion import dispersion, dispersion_of_allowed
from semfocus.probes.gap_density import gap_density
from semfocus.probes.noise import gaussian
from semfocus.probes.separation import separation
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


def gaussian_null(L: int, k: int, n_samples: int = 10_000, seed: int = 0) -> dict[str, float]:
    """Means over queries with L independent standard normal scores: top-k, and a random subset of k keys.

    c1 and c1_random are ratios of means; rho0 is the gap density at the 5 % quantile.
    """
    if not 1 <= k <= L or n_samples < 1:
        raise ValueError(f"gaussian_null needs 1 <= k <= L and n_samples >= 1, got k={k}, L={L}, {n_samples}")
    scores = gaussian(torch.Size((n_samples, L)), 0, seed, "null", torch.device("cpu"))
    plain = AttentionTrace(0, "", scores, scores, torch.ones_like(scores, dtype=torch.bool), scores)
    top = counterfactual(plain, TopK(k))
    drawn = counterfactual(plain, Random(k), generator=torch.Generator().manual_seed(seed))
    full, kept, random = (
        float(each.mean()) for each in (dispersion_of_allowed(plain), dispersion(top), dispersion(drawn))
    )
    gaps = separation(top)
    return {
        "delta_full": full,
        "delta_topk": kept,
        "c1": kept / full if full else torch.nan,
        "separation": float(gaps.mean()),
        "rho0": gap_density(gaps.numpy()),
        "delta_random": random,
        "c1_random": random / full if full else torch.nan,
    }
