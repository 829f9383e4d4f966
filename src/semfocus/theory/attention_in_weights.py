"""Lipschitz constants of attention in its score matrix W (docs/theory.md, section 4)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import (
    LOG_2,
    Values,
    counts,
    log,
    log_inverse,
    log_one_plus_inverse,
    log_product,
    not_negative,
    reals,
)
from semfocus.theory.softmax_stability import log_xi_exact


def log_lambda_w(
    value_norm: ArrayLike,
    token_norm: ArrayLike,
    delta: ArrayLike,
    n: ArrayLike,
    sep: ArrayLike | None = None,
    *,
    kind: Literal["published", "exact"],
) -> Values:
    """log λ_W per token, for |V| <= `value_norm` (Υ) and tokens of norm <= `token_norm` (Ξ).

    Without `sep` a fixed support of n keys, with it the top n keys (two-sided: δ and Δ over both weight settings).
    **Published** (as reconstructed): ΥΞ³e^δ, and 2ΥΞ³e^δ(1+1/Δ); valid, loose by e^δ; n is not used.
    **Exact**: ΥΞ³κ_n(δ), and ΥΞ³max(κ_n(δ), 2/Δ); attained.
    """
    dispersion, size = not_negative("delta", delta), counts("n", n)
    scale = (log(not_negative("value_norm", value_norm)), 3 * log(not_negative("token_norm", token_norm)))
    gap = None if sep is None else reals("sep", sep)
    if kind == "published":
        unused = 0.0 * size  # n takes part in the shape of the answer only
        change = (
            dispersion + unused if gap is None else dispersion + unused + LOG_2 + log_one_plus_inverse(gap)
        )
    elif kind == "exact":
        change = log_xi_exact(dispersion, size, "inf1")
        if gap is not None:
            change = np.maximum(change, LOG_2 + log_inverse(gap))
    else:
        raise ValueError(f"kind must be 'published' or 'exact', got {kind!r}")
    return log_product(*scale, change)
