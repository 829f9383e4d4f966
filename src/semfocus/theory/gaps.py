"""How often a small move flips a mask: the density of small separations (docs/theory.md, section 6)."""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Values, counts, not_negative, positive, reals


def gap_density(seps: ArrayLike, t: float | None = None) -> float:
    """**Local measured**: ρ0, the share of separations up to t divided by t; t is their 5 % quantile unless given.

    Infinite separations (nothing masked) count among all. +inf when the 5 % quantile is 0 (ties), 0 when it is infinite.
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
