"""How much a softmax over the k highest scores can change when the scores do (docs/theory.md, section 3)."""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import LOG_2, Values, counts, log_inverse, not_negative, reals
from semfocus.theory.softmax_stability import Norm, log_xi_exact


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
    """**Exact**: (slope, jump a swap): |Δp|_1 <= slope * |Δz|_1 + jump * swapped keys, for any pair without a separation.

    >>> slope, jump = topk_quasi(1.0, 5)
    >>> round(float(slope), 6), float(jump)
    (0.481801, 0.4)
    """
    return np.exp(log_xi_exact(not_negative("delta", delta), k, "11"))[()], (2.0 / counts("k", k))[()]
