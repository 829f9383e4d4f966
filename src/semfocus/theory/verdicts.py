"""All comparisons of full and top-k attention at once, the three layers side by side (docs/theory.md, section 5)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import counts, finite
from semfocus.theory.comparison import lhs_w, lhs_x, maxform_margin, route_a, route_b
from semfocus.theory.gaps import gaussian_null, gaussian_null_at

#: measured values of one quantity: many, or {quantile in percent: value}
Quantiles = ArrayLike | Mapping[int, float]
Column = dict[str, Any]


def compare(
    full_stats: Mapping[str, Quantiles],
    topk_stats: Mapping[str, Quantiles],
    k: int,
    L: int,
    quantiles: Sequence[int] = (75, 90, 95, 100),
) -> dict[str, Any]:
    """{"k", "length", "null", "columns"}: one column a quantile q; 100 is always there, the only one that is
    a supremum.

    "null" are the means of `gaussian_null`; beside the c1 of a column stands "null_c1", that of independent Gaussian
    scores at the same quantile. It is for one set of scores: two models may differ in the size of theirs.

    Both take what `row_stats` returns, or {quantile: value} for each quantity. Needed: "dispersion"; of top-k also
    "separation" (read at 100 - q) and "in_degree" (divided by k) or "key_load". With "lambda_w_local" on both sides
    the local constants are compared too. NaN (queries without keys) is left out.
    """
    kept, length = int(counts("k", k)), int(counts("L", L))
    columns = []
    for quantile in sorted({*quantiles, 100}):
        load = at_quantile(topk_stats, "key_load", quantile) if "key_load" in topk_stats else None
        column = compare_numbers(
            at_quantile(full_stats, "dispersion", quantile),
            at_quantile(topk_stats, "dispersion", quantile),
            at_quantile(topk_stats, "separation", 100 - quantile),
            at_quantile(topk_stats, "in_degree", quantile) / kept if load is None else load,
            kept,
            length,
        )
        null = gaussian_null_at(length, kept, quantile)["c1"]
        local = _local(full_stats, topk_stats, quantile)
        columns.append({"quantile": quantile, "null_c1": null, **column, **local})
    return {"k": kept, "length": length, "null": gaussian_null(length, kept), "columns": columns}


def compare_numbers(
    dispersion_full: float, dispersion_topk: float, separation: float, beta: float | None, k: int, length: int
) -> Column:
    """One column: the numbers, both sides of every comparison, and whether top-k has the smaller constant."""
    finite("the dispersion of full attention", dispersion_full)  # what c1 and c2 are shares of
    numbers = (dispersion_full, dispersion_topk, separation)
    in_w = float(lhs_w(*numbers))
    in_x = None if beta is None else float(lhs_x(*numbers, beta))
    margin = float(maxform_margin(*numbers))
    a = [float(each) for each in route_a(*numbers, k, length)]
    b = [float(each) for each in route_b(*numbers, k, length)]
    return {
        "dispersion_full": float(dispersion_full),
        "dispersion_topk": float(dispersion_topk),
        "separation": float(separation),
        "beta": None if beta is None else float(beta),
        "c1": float(dispersion_topk / dispersion_full),
        "c2": float(separation / dispersion_full),
        "published": {"lhs_w": in_w, "w": in_w < 1, "lhs_x": in_x, "x": None if in_x is None else in_x < 1},
        "maxform": {"margin": margin, "w": margin < 0},
        "exact": {"route_a": a, "a": _is_smaller(*a), "route_b": b, "b": _is_smaller(*b)},
    }


def _is_smaller(topk: float, full: float) -> bool:
    """By more than rounding: where both sides are the same number in theory nobody wins."""
    return topk < full and not math.isclose(topk, full, rel_tol=1e-12)


def at_quantile(stats: Mapping[str, Quantiles], quantity: str, quantile: int) -> float:
    """The value of a quantity at a quantile in percent."""
    if quantity not in stats:
        raise ValueError(f"the statistics need {quantity!r}, got {', '.join(stats) or 'nothing'}")
    measured = stats[quantity]
    if isinstance(measured, Mapping):
        if quantile not in measured:
            raise ValueError(
                f"{quantity} has no value at {quantile} %, only at {', '.join(map(str, measured))}"
            )
        return float(measured[quantile])
    values = np.asarray(measured, dtype=np.float64).reshape(-1)
    values = values[~np.isnan(values)]
    if not len(values):
        raise ValueError(f"{quantity} has no value at all: no query keeps a key")
    # Between a finite and an infinite separation nothing can be interpolated; the lower one is the careful choice.
    method: Literal["linear", "lower"] = "linear" if np.isfinite(values).all() else "lower"
    return float(np.quantile(values, quantile / 100, method=method))


def _local(full: Mapping[str, Quantiles], topk: Mapping[str, Quantiles], quantile: int) -> dict[str, Any]:
    if "lambda_w_local" not in full or "lambda_w_local" not in topk:
        return {"local": None}
    both = [at_quantile(each, "lambda_w_local", quantile) for each in (topk, full)]
    return {"local": {"lambda_w": both, "w": both[0] < both[1]}}
