"""The null model: what independent Gaussian scores, which know nothing, give (docs/theory.md, section 6)."""

import numpy as np

from semfocus.theory.arguments import counts
from semfocus.theory.gaps import gap_density

_CHUNK = 1 << 20


def gaussian_null(L: int, k: int, n_samples: int = 10_000, seed: int = 0) -> dict[str, float]:
    """Means over rows of L scores from N(0, 1): report every ratio beside these.

    delta_full, delta_topk and their ratio c1; separation; rho0 (`gap_density`); delta_random and c1_random for k keys
    drawn without looking at scores. Dispersions and separation scale with the standard deviation, rho0 with its
    inverse, ratios not at all. k >= L keeps everything.
    """
    length, num_rows = int(counts("L", L)), int(counts("n_samples", n_samples))
    kept = min(int(counts("k", k)), length)
    generator = np.random.default_rng(seed)
    parts = []
    step = max(1, _CHUNK // length)
    for start in range(0, num_rows, step):
        scores = generator.standard_normal((min(step, num_rows - start), length))
        agnostic = np.ptp(scores[:, :kept], axis=1)
        scores.sort(axis=1)
        top, last = scores[:, -1], scores[:, -kept]
        gap = last - scores[:, -kept - 1] if kept < length else np.full(len(scores), np.inf)
        parts.append(np.stack([top - scores[:, 0], top - last, gap, agnostic]))
    full, topk, separation, random = np.concatenate(parts, axis=1)
    every = kept == length
    return {
        "delta_full": float(full.mean()),
        "delta_topk": float(topk.mean()),
        "c1": 1.0 if every else float(topk.mean() / full.mean()),
        "separation": float(separation.mean()),
        "rho0": gap_density(separation),
        "delta_random": float(random.mean()),
        "c1_random": 1.0 if every else float(random.mean() / full.mean()),
    }
