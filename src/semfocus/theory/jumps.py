"""Bounds on one finite change of attention weights that need no separation (docs/theory.md, sections 2 and 6)."""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Values, counts, not_negative, reals


def largest_softmax_change(eta: ArrayLike) -> Values:
    """**Exact**: |Δp|_1 <= 2 tanh(η/2) when no score on a fixed support moves by more than η; attained.

    >>> round(float(largest_softmax_change(1.0)), 6)
    0.924234
    """
    return (2 * np.tanh(not_negative("eta", eta) / 2))[()]


def largest_topk_change(eta: ArrayLike, k: ArrayLike, swaps: ArrayLike) -> Values:
    """**Exact** upper bound on |Δp|_1 of top-k when no score moves by more than η and `swaps` kept keys are exchanged."""
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
