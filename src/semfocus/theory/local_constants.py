"""What attention does at given tokens and weights, mask frozen: measurable, not worst case (docs/theory.md,
section 6).
"""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Floats, Values, finite, not_negative, probabilities


def attended_cov(X: ArrayLike, p: ArrayLike) -> Floats:
    """**Local measured**: Σ_j p_j (x_j - x̄)(x_j - x̄)' of the tokens in the columns of X (..., d, L),
    weights p (..., L).
    """
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


#: up to this many keys the l∞ -> l1 norm is found by trying every subset
ENUMERATED = 20
_CHUNK = 1 << 22


def jacobian_norms(p: ArrayLike) -> dict[str, Values]:
    """**Local measured**: norms at the distributions along the last axis of p.

    "11" (= l∞ -> l∞), "22" (largest eigenvalue) and its closed upper bound "22_upper", the l∞ -> l1 norm between
    "inf1_lo" and "inf1_hi" (equal up to 20 keys, or where the largest weight is 1/2 or more), "fro" (Frobenius) and
    "gini" (the trace, 1 - Σp²).

    >>> norms = jacobian_norms([0.5, 0.3, 0.2])
    >>> [round(float(norms[name]), 6) for name in ("11", "22", "22_upper", "inf1_lo")]
    [0.5, 0.388102, 0.4, 1.0]
    """
    ranked = -np.sort(-probabilities("p", p), axis=-1)
    following = np.concatenate([ranked[..., 1:], np.zeros_like(ranked[..., :1])], axis=-1)
    # What the other keys have: for the largest weight a sum, since 1 - p would lose all digits where p is nearly 1.
    others, squares = 1 - ranked, (ranked**2).sum(-1, keepdims=True) - ranked**2
    others[..., 0], squares[..., 0] = ranked[..., 1:].sum(-1), (ranked[..., 1:] ** 2).sum(-1)
    low, high = _max_to_l1(ranked, others[..., 0])
    return {
        "11": (2 * ranked * others).max(-1),
        "22": _largest_eigenvalue(ranked, following[..., 0]),
        "22_upper": (ranked * (others + following)).max(-1),
        "inf1_lo": low,
        "inf1_hi": high,
        "fro": np.sqrt((ranked**2 * (others**2 + squares)).sum(-1)),
        "gini": (ranked * others).sum(-1),
    }


def _largest_eigenvalue(ranked: Floats, second: Floats) -> Values:
    """The root of Σ p_i/(p_i - λ) = 0 between the two largest weights; the sum grows with λ there."""
    low, high = second.copy(), ranked[..., 0].copy()
    for _ in range(80):
        middle = (low + high) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(ranked > 0, ranked / (ranked - middle[..., None]), 0.0)
        beyond = terms.sum(-1) > 0
        # Where the two weights are equal or next to each other nothing is left to divide.
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return low[()]


def _max_to_l1(ranked: Floats, others: Floats) -> tuple[Values, Values]:
    """Lower and upper end of max 4P(T)(1 - P(T)) over sets of keys T."""
    first = ranked[..., 0]
    peaked = 4 * first * others
    low, high = np.where(first >= 0.5, peaked, 1 - first**2), np.where(first >= 0.5, peaked, 1.0)
    if ranked.shape[-1] <= ENUMERATED:
        flat, ends = ranked.reshape(-1, ranked.shape[-1]), low.reshape(-1)
        open_rows = np.flatnonzero(flat[:, 0] < 0.5)
        step = max(1, _CHUNK >> (ranked.shape[-1] - 1))
        for start in range(0, len(open_rows), step):
            part = open_rows[start : start + step]
            ends[part] = _best_split(flat[part])
        low = ends.reshape(first.shape)
        high = low
    return low[()], high[()]


def _best_split(rows: Floats) -> Floats:
    """Mass of every set that leaves out the last key; its complement has the same 4P(1 - P)."""
    sums = np.zeros((len(rows), 1))
    for column in rows[:, :-1].T:
        sums = np.concatenate([sums, sums + column[:, None]], axis=1)
    return (4 * sums * (1 - sums)).max(-1)
