"""What one score matrix says about its queries and keys (docs/theory.md, section 1)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semfocus.theory.arguments import Floats, counts, reals

#: scores that are worked on at a time, so that temporary memory does not grow with the number of queries
_CHUNK = 1 << 20


def topk_support(scores: ArrayLike, k: int) -> NDArray[np.bool_]:
    """Which keys the top k are, along the last axis; ties go to the lower index.

    A score of -inf is never kept, so a row with fewer than k finite scores keeps all of them.

    >>> topk_support([[2.0, 2.0, 2.0, -np.inf]], 2).tolist()
    [[True, True, False, False]]
    """
    known = reals("scores", scores)
    size = min(int(counts("k", k)), known.shape[-1])
    kept = np.zeros(known.shape, dtype=bool)
    best = np.argsort(-known, axis=-1, kind="stable")[..., :size]
    np.put_along_axis(kept, best, True, axis=-1)
    return kept & ~np.isneginf(known)


def row_stats(scores: ArrayLike, support: ArrayLike) -> dict[str, Any]:
    """**Measured**: dispersion, separation and weights of every query, and the load of every key.

    `scores` (..., queries, keys), -inf where a key is not allowed; `support` the same shape, True = kept. Per query:
    n, dispersion, separation (+inf if no allowed key is masked, 0 at a tie, negative if the support is not the top k),
    p_max, p_last (largest and smallest weight), kept_mass (what full attention gives to the support), empty. Per key:
    in_degree, col_mass. beta: the largest in-degree over the largest n. An empty row has NaN and `empty` is True.
    """
    known = np.asarray(scores)
    chosen = np.asarray(support)
    if known.ndim < 2 or 0 in known.shape[-2:]:
        raise ValueError(f"scores must be (..., queries, keys) with at least one of each, got {known.shape}")
    if chosen.dtype != np.bool_ or chosen.shape != known.shape:
        raise ValueError(
            f"support must be boolean of shape {known.shape}, got {chosen.dtype} of shape {chosen.shape}"
        )
    *leading, num_queries, num_keys = known.shape
    rows, flags = known.reshape(-1, num_keys), chosen.reshape(-1, num_keys)
    per_row = {name: np.empty(len(rows)) for name in _PER_ROW}
    matrix = np.arange(len(rows)) // num_queries
    mass = np.zeros((max(1, len(rows) // num_queries), num_keys))
    step = max(1, _CHUNK // num_keys)
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        found, weights = _of_rows(rows[part], flags[part])
        for name in _PER_ROW:
            per_row[name][part] = found[name]
        np.add.at(mass, matrix[part], weights)
    in_degree = chosen.sum(-2)
    sizes = chosen.sum(-1)
    largest = sizes.max(-1)
    return {
        **{name: values.reshape(*leading, num_queries) for name, values in per_row.items()},
        "n": sizes,
        "empty": sizes == 0,
        "in_degree": in_degree,
        "col_mass": mass[: max(1, len(rows) // num_queries)].reshape(*leading, num_keys),
        "beta": np.where(largest > 0, in_degree.max(-1) / np.maximum(largest, 1), np.nan)[()],
    }


_PER_ROW = ("dispersion", "separation", "p_max", "p_last", "kept_mass")


def _of_rows(rows: NDArray[Any], kept: NDArray[np.bool_]) -> tuple[dict[str, Floats], Floats]:
    known = reals("scores", rows)
    if np.isposinf(known).any():
        raise ValueError("scores must not be +inf: the softmax has no value there")
    if (np.isneginf(known) & kept).any():
        raise ValueError("support keeps a key whose score is -inf: only allowed keys can be kept")
    some = kept.any(-1)
    high = np.where(kept, known, -np.inf).max(-1)
    low = np.where(kept, known, np.inf).min(-1)
    masked = np.where(kept, -np.inf, known).max(-1)
    top, bottom = np.where(some, high, np.nan), np.where(some, low, np.nan)
    weights = np.where(kept, np.exp(np.where(kept, known, -np.inf) - np.where(some, high, 0.0)[:, None]), 0.0)
    total = weights.sum(-1)
    # In units of e^top, and the rest separately, so that a masked key far above the support cannot overflow.
    with np.errstate(over="ignore"):
        rest = np.exp(np.where(kept, -np.inf, known) - np.where(some, high, 0.0)[:, None]).sum(-1)
    weights = weights / np.where(some, total, 1.0)[:, None]
    last = np.where(kept, weights, np.inf).min(-1)
    found = {
        "dispersion": top - bottom,
        "separation": bottom - masked,
        "p_max": np.where(some, weights.max(-1), np.nan),
        "p_last": np.where(some, last, np.nan),
        "kept_mass": np.where(some, total / np.where(some, total + rest, 1.0), np.nan),
    }
    return found, weights
