"""Separations: how densely they lie near zero, and what they are where scores are Gaussian noise."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Floats, Values, counts, not_negative, positive, reals


def gap_density(seps: ArrayLike, t: float | None = None) -> float:
    """**Local measured**: ρ0, the share of separations up to t divided by t; t is their 5 % quantile unless given.

    Infinite separations (nothing masked) count among all. +inf when the 5 % quantile is 0 (ties), 0 when it
    is infinite.
    """
    known = reals("seps", seps).reshape(-1)
    if not len(known):
        raise ValueError("seps must hold at least one separation")
    reach = (
        float(positive("t", t)) if t is not None else float(np.quantile(known, 0.05, method="inverted_cdf"))
    )
    if np.isinf(reach):
        return 0.0
    return float((known <= reach).mean() / reach) if reach > 0 else float("inf")


def average_topk_slope(rho0: ArrayLike, k: ArrayLike) -> Values:
    """**Exact** to first order in η: the mean of |Δp|_1 over queries is at most (1 + 4ρ0/k) η for score moves up to η.

    For queries whose separations have density ρ0 near 0, when two swaps at once are rare.

    >>> float(average_topk_slope(4.5, 5))
    4.6
    """
    return (1 + 4 * not_negative("rho0", rho0) / counts("k", k))[()]


_CHUNK = 1 << 20


def gaussian_null(L: int, k: int, n_samples: int = 10_000, seed: int = 0) -> dict[str, float]:
    """Means over rows of L scores from N(0, 1); beside a ratio of quantiles belongs `gaussian_null_at`.

    delta_full, delta_topk and their ratio c1; separation; rho0 (`gap_density`); delta_random and c1_random for k keys
    drawn without looking at scores. Dispersions and separation scale with the standard deviation, rho0 with its
    inverse, ratios not at all. k >= L keeps everything.
    """
    length, kept, num_rows = _sizes(L, k, n_samples)
    full, topk, separation, random = _drawn(length, kept, num_rows, seed)
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


def gaussian_null_at(
    L: int, k: int, quantile: float, n_samples: int = 10_000, seed: int = 0
) -> dict[str, float]:
    """The same at a quantile in percent, as tables of quantiles are read: the separation at the opposite one.

    delta_full, delta_topk, c1; separation, c2 (over delta_full). High quantiles of top-k's dispersion are larger than
    their mean by a larger factor than those of full attention's, so c1 grows with the quantile. At 100 all are
    extremes of `n_samples` rows: those of more rows lie a little farther out.
    """
    if not 0 <= quantile <= 100:
        raise ValueError(f"quantile must be from 0 to 100, got {quantile!r}")
    length, kept, num_rows = _sizes(L, k, n_samples)
    full, topk, separation, _ = _drawn(length, kept, num_rows, seed)
    spread, kept_spread = (float(np.percentile(each, quantile)) for each in (full, topk))
    every = kept == length
    gap = np.inf if every else float(np.percentile(separation, 100 - quantile))
    return {
        "delta_full": spread,
        "delta_topk": kept_spread,
        "c1": 1.0 if every else kept_spread / spread,
        "separation": gap,
        "c2": np.inf if every else gap / spread,
    }


def _sizes(L: int, k: int, n_samples: int) -> tuple[int, int, int]:
    length = int(counts("L", L))
    return length, min(int(counts("k", k)), length), int(counts("n_samples", n_samples))


@lru_cache(maxsize=32)
def _drawn(length: int, kept: int, num_rows: int, seed: int) -> Floats:
    """For each row of noise: dispersion of all keys, of the top ones, separation, dispersion of keys chosen blindly."""
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
    found = np.concatenate(parts, axis=1)
    found.flags.writeable = False  # it is shared between callers
    return found
