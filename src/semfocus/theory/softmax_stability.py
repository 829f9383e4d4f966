"""How much a softmax over a fixed support can change when its scores do (docs/theory.md, section 2)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import (
    LOG_2,
    Floats,
    Values,
    counts,
    log,
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
