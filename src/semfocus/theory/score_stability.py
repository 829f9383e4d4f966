"""How far attention weights move when scores do: softmax, top-k, and one finite change (docs/theory.md,
sections 2, 3 and 6).
"""

from typing import Literal

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
    reals,
)

Norm = Literal["11", "22", "inf1"]
NORMS = ("11", "22", "inf1")


def log_xi_published(delta: ArrayLike, n: ArrayLike, sep: ArrayLike | None = None) -> Values:
    """**Published** (as reconstructed): log of e^δ/n, or with a separation of (e^δ/n)(1 + 1/Δ).

    In l1 -> l1 the first holds for δ >= `critical_dispersion(n)` only (in l2 -> l2 always), the second for Δ <= 1 with
    δ and Δ taken over both score vectors. `sep`: infinite leaves the term out; 0 or less gives +inf.

    >>> round(float(log_xi_published(2.0, 40)), 6)
    -1.688879
    """
    total = not_negative("delta", delta) - np.log(counts("n", n))
    if sep is not None:
        total = total + log_one_plus_inverse(reals("sep", sep))
    return total[()]


def log_xi_exact(delta: ArrayLike, n: ArrayLike, norm: Norm) -> Values:
    """**Exact**: log of the best constant on {z in R^n: max z - min z <= δ}.

    `norm`: "11" is l1 -> l1 (at most 1/2), "22" l2 -> l2 (at most 1/2), "inf1" l∞ -> l1 (κ, at most 1). One key
    always has weight 1, so n = 1 gives -inf.

    >>> [round(float(np.exp(log_xi_exact(1.0, 5, norm))), 6) for norm in NORMS]
    [0.481801, 0.322202, 1.0]
    """
    if norm not in NORMS:
        raise ValueError(f"norm must be one of {', '.join(NORMS)}, got {norm!r}")
    dispersion, size = np.broadcast_arrays(not_negative("delta", delta), counts("n", n))
    formula = {"11": _log_l1_to_l1, "22": _log_l2_to_l2, "inf1": _log_max_to_l1}[norm]
    return np.where(size == 1, -np.inf, formula(dispersion, np.maximum(size, 2)))[()]


def _log_l1_to_l1(dispersion: Floats, size: Values) -> Floats:
    """max 2p(1-p) over p <= e^δ/(e^δ+n-1): the largest p if that is below 1/2, else 1/2."""
    others = np.log(size - 1)
    below = dispersion < others
    peaked = np.where(below, dispersion, others)
    return np.where(below, LOG_2 + others + peaked - 2 * np.logaddexp(peaked, others), -LOG_2)


def _log_l2_to_l2(dispersion: Floats, size: Values) -> Floats:
    return -np.log(2 + (size - 2) * np.exp(-dispersion))


def _log_max_to_l1(dispersion: Floats, size: Values) -> Floats:
    """max 4P(1-P): halves of equal mass exist for even n, and for odd n once e^δ >= (n+1)/(n-1)."""
    reachable = (size % 2 == 0) | (dispersion >= np.log((size + 1) / (size - 1)))
    small = np.where(reachable, 0.0, dispersion)
    heavier = np.exp(small) * (size - 1)
    share = heavier / (heavier + size + 1)
    return np.where(reachable, 0.0, np.log(4 * share * (1 - share)))


def critical_dispersion(n: ArrayLike) -> Values:
    """**Exact**: the δ below which the published e^δ/n is too small in l1 -> l1.

    At most 0 where that never happens: 0 for n = 2, -inf for n = 1.

    >>> round(float(critical_dispersion(40)), 6)
    2.824764
    """
    size = counts("n", n).astype(np.float64)
    return log(np.sqrt(2 * size * (size - 1)) - (size - 1))[()]


def log_xi_topk(
    delta: ArrayLike,
    sep: ArrayLike,
    k: ArrayLike,
    n: ArrayLike,
    sep_other: ArrayLike | None = None,
    norm: Norm = "11",
) -> Values:
    """**Exact**: log of the best constant between two score vectors of n keys with dispersion <= δ.

    `sep` and `sep_other` are the separations of the two (by default the same; 0 when nothing is known of one).
    "11": max(ξ11(δ, k), 2/(k(Δ+Δ'))) on the keys of either support. "inf1": max(κ_k, 4/(Δ+Δ')), attained for n >= 2k.
    "22": max(ξ22(δ, k), 2/(k(Δ+Δ'))) is a **conjecture** that a search did not refute.
    k >= n keeps everything: the constant of n keys. Without any separation, or with a negative one (then the support
    is not the top k), +inf: top-k jumps at a tie.

    >>> round(float(np.exp(log_xi_topk(1.0, 0.1, 5, 40))), 6)
    2.0
    """
    kept, keys = np.broadcast_arrays(counts("k", k), counts("n", n))
    gap = reals("sep", sep)
    other = gap if sep_other is None else reals("sep_other", sep_other)
    total = np.where((gap < 0) | (other < 0), 0.0, np.maximum(gap, 0) + np.maximum(other, 0))
    size = np.minimum(kept, keys)
    smooth = log_xi_exact(delta, size, norm)
    flip = log_inverse(total) + (2 * LOG_2 if norm == "inf1" else LOG_2 - np.log(size))
    return np.where(kept >= keys, smooth, np.maximum(smooth, flip))[()]


def topk_quasi(delta: ArrayLike, k: ArrayLike) -> tuple[Values, Values]:
    """**Exact**: (slope, jump per swap), for any pair without a separation.

    |Δp|_1 <= slope * |Δz|_1 + jump * swapped keys.

    >>> slope, jump = topk_quasi(1.0, 5)
    >>> round(float(slope), 6), float(jump)
    (0.481801, 0.4)
    """
    return np.exp(log_xi_exact(not_negative("delta", delta), k, "11"))[()], (2.0 / counts("k", k))[()]


def largest_softmax_change(eta: ArrayLike) -> Values:
    """**Exact**: |Δp|_1 <= 2 tanh(η/2) when no score on a fixed support moves by more than η; attained.

    >>> round(float(largest_softmax_change(1.0)), 6)
    0.924234
    """
    return (2 * np.tanh(not_negative("eta", eta) / 2))[()]


def largest_topk_change(eta: ArrayLike, k: ArrayLike, swaps: ArrayLike) -> Values:
    """**Exact** upper bound on |Δp|_1 of top-k.

    No score moves by more than η, and `swaps` kept keys are exchanged.
    """
    size, swapped, move = counts("k", k), counts("swaps", swaps, 0), not_negative("eta", eta)
    by_number = 4 * swapped / (size + swapped)
    by_size = 2 * swapped / (1 + (size - 1) * np.exp(-move))
    return (largest_softmax_change(move) + np.minimum(by_number, by_size))[()]


def width_jump(width: ArrayLike) -> Values:
    """**Exact** upper bound on |Δp|_1 when one key crosses the edge of {z_j >= max z - width}: 2/(1 + e^width)."""
    return (1 - np.tanh(not_negative("width", width) / 2))[()]


def top_p_jump(p: ArrayLike) -> Values:
    """**Exact** upper bound on what selection adds to |Δp|_1 under top-p, for any pair: 4(1 - p)."""
    share = reals("p", p)
    if ((share < 0) | (share > 1)).any():
        raise ValueError(f"p must lie in [0, 1], got {p!r}")
    return (4 * (1 - share))[()]
