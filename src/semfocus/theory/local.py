"""What attention does at given tokens and weights, mask frozen: measurable, not worst case (docs/theory.md, section 6)."""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Floats, Values, finite, not_negative, probabilities


def attended_cov(X: ArrayLike, p: ArrayLike) -> Floats:
    """**Local measured**: Σ_j p_j (x_j - x̄)(x_j - x̄)' of the tokens in the columns of X (..., d, L), weights p (..., L)."""
    tokens, weights = _tokens_and_weights(X, p)
    centred = tokens - (tokens @ weights[..., None])
    return (centred * weights[..., None, :]) @ np.swapaxes(centred, -1, -2)


def lambda_w_local(X: ArrayLike, p: ArrayLike, V: ArrayLike, x_q: ArrayLike) -> Values:
    """**Local measured**: the exact constant ‖V Cov_p(x)‖ ‖x_q‖ of one query's output in W; at most ΥΞ³.

    The differential of the output is V Cov_p(x) dW x_q.
    """
    values, query = finite("V", V), finite("x_q", x_q)
    product = values @ attended_cov(X, p)
    return (np.linalg.norm(product, 2, axis=(-2, -1)) * np.linalg.norm(query, axis=-1))[()]


def attended_diameter(X: ArrayLike, support: ArrayLike) -> float:
    """**Local measured**: the largest distance between two attended tokens (columns of X, d x L); 0 for fewer than two.

    `lambda_w_local` is at most ‖V‖ ‖x_q‖ diameter² / 4.
    """
    tokens, kept = finite("X", X), np.asarray(support)
    if tokens.ndim != 2 or kept.dtype != np.bool_ or kept.shape != tokens.shape[1:]:
        raise ValueError(
            f"X must be (d, L) and support boolean (L,), got {tokens.shape} and {kept.dtype} of {kept.shape}"
        )
    attended = tokens[:, kept]
    # One token against all: the n x n x d array of all differences would be large.
    farthest = (
        np.linalg.norm(attended - attended[:, [each]], axis=0).max() for each in range(attended.shape[1])
    )
    return float(max(farthest, default=0.0))


def flip_jump(p_last: ArrayLike, V: ArrayLike, x_k: ArrayLike, x_k1: ArrayLike) -> Values:
    """**Local measured**: how far the output jumps when the last kept key changes places with the first masked one."""
    weight = not_negative("p_last", p_last)
    if (weight > 1).any():
        raise ValueError(f"p_last must be a weight in [0, 1], got {weight.max():g}")
    difference = finite("x_k", x_k) - finite("x_k1", x_k1)
    moved = (finite("V", V) @ difference[..., None])[..., 0]
    return (weight * np.linalg.norm(moved, axis=-1))[()]


def _tokens_and_weights(X: ArrayLike, p: ArrayLike) -> tuple[Floats, Floats]:
    tokens, weights = finite("X", X), probabilities("p", p)
    if tokens.ndim < 2 or tokens.shape[-1] != weights.shape[-1]:
        raise ValueError(f"X must be (..., d, L) and p (..., L), got {tokens.shape} and {weights.shape}")
    return tokens, weights
