"""Lipschitz constants of attention in its weights and in its inputs."""

import warnings
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
    log_product,
    not_negative,
    reals,
)
from semfocus.theory.score_stability import log_xi_exact


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


def log_lambda_x_published(
    value_norm: ArrayLike,
    score_norm: ArrayLike,
    token_norm: ArrayLike,
    delta: ArrayLike,
    sep: ArrayLike | None = None,
    beta: ArrayLike | None = None,
) -> Values:
    """**Published** (as reconstructed): log λ_X from Υ, Γ, Ξ and δ; g = ΓΞ².

    Full: Υe^δ(1+2g). A fixed mask (`beta` alone): Υe^δ(β+g(1+β)). Top-k (both): Υe^δ(2g(1+β)(1+1/Δ)+β).
    The first fails for a small measured δ with g of 4 and more, and holds for the a-priori δ = 2g. A maximal key load
    is at least 1; a smaller β is computed with a warning.
    """
    dispersion = not_negative("delta", delta)
    log_g = _log_g(score_norm, token_norm)
    if beta is None:
        if sep is not None:
            raise ValueError("a separation needs beta, the largest key load, too")
        inner = np.logaddexp(0.0, LOG_2 + log_g)
    else:
        load = not_negative("beta", beta)
        if (load < 1).any():
            warnings.warn(
                f"beta is {load.min():g}, but the largest key load is at least 1", UserWarning, stacklevel=2
            )
        moved = log_product(log_g, np.log1p(load))
        if sep is not None:
            moved = log_product(LOG_2, moved, log_one_plus_inverse(reals("sep", sep)))
        inner = np.logaddexp(moved, log(load))
    return log_product(log(not_negative("value_norm", value_norm)), dispersion, inner)


def log_lambda_x_pointwise(
    value_norm: ArrayLike, score_norm: ArrayLike, token_norm: ArrayLike, col_mass: ArrayLike
) -> Values:
    """The logarithm of `lambda_x_pointwise`."""
    log_g = _log_g(score_norm, token_norm)
    own = log_product(log(not_negative("col_mass", col_mass)), np.logaddexp(0.0, LOG_2 + log_g))
    return log_product(log(not_negative("value_norm", value_norm)), np.logaddexp(own, log_g))


def lambda_x_pointwise(
    value_norm: ArrayLike, score_norm: ArrayLike, token_norm: ArrayLike, col_mass: ArrayLike
) -> Values:
    """**Exact** upper bound on the Jacobian at one input, mask frozen: Υ(C(1+2g)+g), C the largest received mass."""
    return _exp(log_lambda_x_pointwise(value_norm, score_norm, token_norm, col_mass))


def log_lambda_x_global(
    value_norm: ArrayLike,
    score_norm: ArrayLike,
    token_norm: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    in_degree_max: ArrayLike,
    sep: ArrayLike | None = None,
) -> Values:
    """The logarithm of `lambda_x_global`."""
    size, dispersion = counts("n", n), not_negative("delta", delta)
    most = counts("in_degree_max", in_degree_max)
    received = np.log(most) - np.log1p((size - 1) * np.exp(-dispersion))
    stability = log_xi_exact(dispersion, size, "11")
    moved = _log_g(score_norm, token_norm) + np.log(size + most)
    if sep is not None:
        stability = np.maximum(stability, log_inverse(reals("sep", sep)) - np.log(size))
        moved = moved + LOG_2
    inner = np.logaddexp(received, log_product(moved, stability))
    return log_product(log(not_negative("value_norm", value_norm)), inner)


def lambda_x_global(
    value_norm: ArrayLike,
    score_norm: ArrayLike,
    token_norm: ArrayLike,
    n: ArrayLike,
    delta: ArrayLike,
    in_degree_max: ArrayLike,
    sep: ArrayLike | None = None,
) -> Values:
    """**Exact** upper bound between two inputs that both have dispersion <= δ (and separation >= Δ).

    n keys a query, a key kept by at most `in_degree_max` queries. Fixed support (full: n = in-degree = L):
    Υ(C + g ξ11(δ,n)(n + in-degree)), C = in-degree e^δ/(e^δ+n-1); top-k, with `sep`: twice the second term and
    max(ξ11(δ,k), 1/(kΔ)) for ξ11.
    """
    return _exp(log_lambda_x_global(value_norm, score_norm, token_norm, n, delta, in_degree_max, sep))


def _log_g(score_norm: ArrayLike, token_norm: ArrayLike) -> Floats:
    return log_product(
        log(not_negative("score_norm", score_norm)), 2 * log(not_negative("token_norm", token_norm))
    )


def _exp(value: Values) -> Values:
    with np.errstate(over="ignore"):
        return np.exp(value)
