"""Whether the bound of top-k attention is below that of full attention (docs/theory.md, section 5)."""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import (
    LOG_2,
    Floats,
    Values,
    counts,
    log,
    log_inverse,
    log_one_plus_inverse,
    not_negative,
    positive,
    reals,
)
from semfocus.theory.score_stability import log_xi_exact


def lhs_w(ds: ArrayLike, dh: ArrayLike, sep: ArrayLike) -> Values:
    """**Published** (as reconstructed): c1 + log(2(1+1/Δ))/δ_s; below 1, top-k's bound on λ_W is the smaller one.

    `ds`: dispersion of full attention; `dh`, `sep`: dispersion and separation of top-k. No separation gives +inf.

    >>> round(float(lhs_w(8.61, 3.51, 0.016)), 6)
    0.970289
    """
    full, kept, gap = positive("ds", ds), not_negative("dh", dh), reals("sep", sep)
    return _share(full, kept + LOG_2 + log_one_plus_inverse(gap), 0.0)


def lhs_x(ds: ArrayLike, dh: ArrayLike, sep: ArrayLike, beta: ArrayLike) -> Values:
    """**Published** (as reconstructed): the same for λ_X, under its assumption 2ΓΞ² = δ_s; `beta` is the key load.

    >>> round(float(lhs_x(8.61, 3.51, 0.016, 0.2)), 6)
    0.898233
    """
    full, kept, gap = positive("ds", ds), not_negative("dh", dh), reals("sep", sep)
    load = not_negative("beta", beta)
    finite = np.where(np.isinf(full), 1.0, full)
    moved = np.log(finite) + np.log1p(load) + log_one_plus_inverse(gap)
    return _share(full, kept + np.logaddexp(moved, log(load)), np.log1p(finite))


def _share(full: Floats, topk: Floats, less: ArrayLike) -> Values:
    """(topk - less) / full; an infinite top-k side stays infinite, and an infinite full side alone makes 0."""
    full, topk, less = np.broadcast_arrays(full, topk, np.asarray(less, dtype=np.float64))
    open_end = np.isposinf(topk)
    shares = (np.where(open_end, 0.0, topk) - less) / full
    return np.where(open_end, np.inf, shares)[()]


def c2_min_w(ds: ArrayLike, c1: ArrayLike) -> Values:
    """**Published** (as reconstructed), solved: `lhs_w` < 1 exactly for c2 = Δ/δ_s above this; +inf where
    none will do.
    """
    full, ratio = positive("ds", ds), not_negative("c1", c1)
    with np.errstate(invalid="ignore"):  # none is left of an infinite δ_s where c1 = 1
        room = np.where(ratio == 1, 0.0, (1 - ratio) * full) - LOG_2
    inside = np.maximum(room, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.exp(-inside) / (full * -np.expm1(-inside))
    return np.where(room > 0, found, np.inf)[()]


def c2_min_x(ds: ArrayLike, c1: ArrayLike, beta: ArrayLike) -> Values:
    """**Published** (as reconstructed), solved: `lhs_x` < 1 exactly for c2 = Δ/δ_s above this; +inf where
    none will do.
    """
    full, ratio, load = positive("ds", ds), not_negative("c1", c1), not_negative("beta", beta)
    # e^-δ wins over δ: where δ_s is infinite any c2 above 0 will do, if anything is left of it and β is finite
    boundless = np.isinf(full) & (ratio < 1) & np.isfinite(load)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        shrunk = np.exp((ratio - 1) * full)
        below = (1 + full) - (load + full * (1 + load)) * shrunk
        possible = below > 0
        found = (1 + load) * np.where(possible, shrunk, 0.0) / np.where(possible, below, 1.0)
    return np.where(boundless, 0.0, np.where(possible, found, np.inf))[()]


def maxform_margin(ds: ArrayLike, dh: ArrayLike, sep: ArrayLike) -> Values:
    """The published comparison with the sharper top-k constant: max(δ_h + log 2, -log Δ) - δ_s; it passes below 0.

    It keeps e^δ on both sides, so it compares **published**-style bounds; weaker than `lhs_w` < 1, which implies it.

    >>> round(float(maxform_margin(8.61, 3.51, 0.016)), 6)
    -4.406853
    """
    full, kept = np.broadcast_arrays(positive("ds", ds), not_negative("dh", dh))
    top = np.maximum(kept + LOG_2, log_inverse(reals("sep", sep)))
    open_end = np.isposinf(top)
    return np.where(open_end, np.inf, np.where(open_end, 0.0, top) - full)[()]


def route_a(
    ds: ArrayLike, dh: ArrayLike, sep: ArrayLike, k: ArrayLike, L: ArrayLike
) -> tuple[Values, Values]:
    """**Exact** l1 constants times the number of scores: (max(2k ξ11(δ_h,k), 2/Δ), L ξ11(δ_s,L)) for (top-k, full)."""
    kept, keys = np.broadcast_arrays(counts("k", k), counts("L", L))
    everything = kept >= keys
    size = np.minimum(kept, keys)
    smooth = np.where(everything, 1, 2) * size * np.exp(log_xi_exact(dh, size, "11"))
    topk = np.where(everything, smooth, np.maximum(smooth, _two_over(sep)))
    full = keys * np.exp(log_xi_exact(positive("ds", ds), keys, "11"))
    return topk[()], full[()]


def route_b(
    ds: ArrayLike, dh: ArrayLike, sep: ArrayLike, k: ArrayLike, L: ArrayLike
) -> tuple[Values, Values]:
    """**Exact** λ_W in units of ΥΞ³: (max(κ_k, 2/Δ), κ_L) for (top-k, full). The first is never smaller for Δ < 2."""
    kept, keys = np.broadcast_arrays(counts("k", k), counts("L", L))
    size = np.minimum(kept, keys)
    smooth = np.exp(log_xi_exact(dh, size, "inf1"))
    topk = np.where(kept >= keys, smooth, np.maximum(smooth, _two_over(sep)))
    return topk[()], np.exp(log_xi_exact(positive("ds", ds), keys, "inf1"))[()]


def _two_over(sep: ArrayLike) -> Floats:
    """2 / Δ by one division: through logarithms 2 / 0.1 would come out below 20, and a tie as a win."""
    with np.errstate(divide="ignore", over="ignore"):
        return 2 / np.maximum(reals("sep", sep), 0.0)
