"""Every vector of vectors.json, each given to the functions that its `call` names."""

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semfocus import theory
from semfocus.theory import (
    average_topk_slope,
    block_lipschitz,
    c2_min_w,
    c2_min_x,
    critical_dispersion,
    hrs_bound,
    jacobian_norms,
    lambda_w_local,
    lambda_x_global,
    lambda_x_pointwise,
    layernorm_lipschitz,
    lhs_w,
    lhs_x,
    log_lambda_w,
    log_lambda_x_published,
    log_xi_exact,
    log_xi_published,
    log_xi_topk,
    maxform_margin,
    model_lipschitz,
    route_a,
    route_b,
    row_stats,
    sgd_rate,
    stability_schedule,
    topk_quasi,
    topk_support,
)

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
Inputs = dict[str, Any]


def softmax(scores: Any, kept: Any = True) -> np.ndarray:
    shown = np.where(kept, scores, -np.inf)
    weights = np.exp(shown - shown.max())
    return weights / weights.sum()


def exact(norm: str) -> Callable[[Inputs], Any]:
    return lambda given: np.exp(log_xi_exact(given["delta"], given["n"], norm))


def top_k_constants(given: Inputs) -> Any:
    delta, sep, k, length = given["delta"], given["sep"], given["k"], given["L"]
    return np.exp(
        [
            log_xi_published(delta, k, sep),
            log_xi_topk(delta, sep, k, length),
            log_xi_topk(delta, sep, k, length, sep_other=0),
        ]
    )


def constants_in_w(given: Inputs) -> Any:
    scale = given["ups"], given["xi"]
    full, kept = (given["delta_s"], given["L"]), (given["delta_h"], given["k"], given["sep"])
    return np.exp(
        [log_lambda_w(*scale, *case, kind=kind) for kind in ("published", "exact") for case in (full, kept)]
    )


def published_in_x(given: Inputs) -> Any:
    scale = given["ups"], given["gam"], given["xi"]
    return np.exp(
        [
            log_lambda_x_published(*scale, given["delta_s"]),
            log_lambda_x_published(*scale, given["delta_h"], given["sep"], given["beta"]),
        ]
    )


def constants_in_x(given: Inputs) -> Any:
    scale = given["ups"], given["gam"], given["xi"]
    return [
        lambda_x_pointwise(*scale, 1.8),
        lambda_x_global(*scale, 40, given["delta_s"], 40),
        lambda_x_global(*scale, 5, given["delta_h"], 8, given["sep"]),
    ]


def norms(given: Inputs) -> Any:
    found = jacobian_norms(given["p"])
    assert found["inf1_lo"] == found["inf1_hi"]
    return [found[name] for name in ("11", "22", "22_upper", "inf1_lo")]


def pair(given: Inputs) -> Any:
    scores = np.array([given["z"], given["z2"]])
    kept = topk_support(scores, given["k"])
    stats = row_stats(scores, kept)
    out = np.abs(softmax(scores[0], kept[0]) - softmax(scores[1], kept[1])).sum()
    moved = np.abs(scores[0] - scores[1])[kept.any(0)].sum()
    delta, sep = stats["dispersion"].max(), stats["separation"].min()
    constants = log_xi_topk(delta, sep, given["k"], 4), log_xi_published(delta, given["k"], sep)
    return [out, moved, out / moved, delta, sep, *np.exp(constants)]


def statistics(given: Inputs) -> Any:
    found = row_stats(given["Z"], topk_support(given["Z"], given["k"]))
    return {name: found[name] for name in ("dispersion", "separation", "in_degree", "beta", "col_mass")}


def local(given: Inputs) -> Any:
    p = softmax(given["logits"])
    return {
        "lam": lambda_w_local(given["X"], p, given["V"], given["x_q"]),
        "cov": theory.attended_cov(given["X"], p),
    }


def three_blocks(_: Inputs) -> Any:
    given = next(vector["inputs"] for vector in VECTORS if vector["id"] == "T15")
    found = model_lipschitz([block_lipschitz("post", **given)] * 3, alpha=math.sqrt(2), rho=0.5, Xi_out=2)
    return {name: found[name] for name in ("W", "P", "max", "fro", "input")}


def steps_of(given: Inputs, steps: list[float]) -> Any:
    return stability_schedule(steps, given["L_grad"], given["L_pair"], given["beta"], given["n"])


def overflow(given: Inputs) -> Any:
    ds, dh, sep, n = (given[name] for name in ("ds", "dh", "sep", "n"))
    return [
        log_xi_published(ds, n),
        np.exp(log_xi_exact(ds, n, "11")),
        lhs_w(ds, dh, sep),
        lhs_x(ds, dh, sep, given["beta"]),
    ]


def left_hand_sides(given: Inputs) -> Any:
    numbers = given["ds"], given["dh"], given["sep"]
    return {"W": lhs_w(*numbers), "X": lhs_x(*numbers, np.array(given["beta_k"]) / given["k"])}


def routes(given: Inputs) -> Any:
    numbers = given["ds"], given["dh"], given["sep"]
    sizes = given["k"], given["L"]
    return [maxform_margin(*numbers), route_a(*numbers, *sizes), route_b(*numbers, *sizes)]


RUN: dict[str, Callable[[Inputs], Any]] = {
    "T01": lambda given: {"log": log_xi_published(**given), "value": np.exp(log_xi_published(**given))},
    "T02": exact("11"),
    "T03": exact("22"),
    "T04": exact("inf1"),
    "T05": top_k_constants,
    "T06": lambda given: critical_dispersion(given["n"]),
    "T07": constants_in_w,
    "T08": published_in_x,
    "T08b": constants_in_x,
    "T09": lambda given: [c2_min_w(given["ds"], given["c1"]), c2_min_x(**given)],
    "T09b": lambda given: c2_min_w(**given),
    "T10": norms,
    "T11": pair,
    "T12": statistics,
    "T13": lambda given: row_stats(np.zeros((4, 4)), np.tri(4, dtype=bool))["col_mass"],
    "T14": local,
    "T15": lambda given: {kind: block_lipschitz(kind, **given) for kind in ("post", "pre")},
    "T16": three_blocks,
    "T17": lambda given: hrs_bound(**given),
    "T17b": lambda given: hrs_bound(**given),
    "T18": lambda given: steps_of(given, [0.25 / t for t in range(1, 1001)]),
    "T18b": lambda given: steps_of(given, [0.01] * 100),
    "T19": lambda given: sgd_rate(**given),
    "T20": lambda given: layernorm_lipschitz(**given),
    "T21": overflow,
    "T22": lambda given: [
        lhs_w(5, 2, 0),
        log_xi_topk(1, 0, 5, 40),
        np.exp(log_xi_topk(1, math.inf, 5, 5)),
    ],
    "T23": left_hand_sides,
    "T24": routes,
    "T25": lambda given: [lhs_x(8.61, 3.51, 0.016, 1), lhs_x(18.5, 6.74, 0.005, 1)],
    "T26": lambda given: [
        topk_quasi(1.0, given["k"])[1] * given["r"],
        theory.width_jump(given["w"]),
        theory.top_p_jump(given["p0"]),
    ],
    "T27": lambda given: average_topk_slope(**given),
    "T28": lambda given: theory.largest_softmax_change(given["eta"]),
}

checked: Counter[str] = Counter()


def numbers(value: Any) -> Any:
    """JSON has no infinity, so the file writes it as a word."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    return math.inf if value == "inf" else value


def agree(found: Any, expected: Any, tolerance: float) -> int:
    """Compare every number, and say how many there were."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        return sum(agree(found[key], expected[key], tolerance) for key in expected)
    if isinstance(expected, list):
        assert len(found) == len(expected)
        return sum(agree(*both, tolerance) for both in zip(found, expected, strict=True))
    assert float(found) == pytest.approx(expected, rel=tolerance, abs=1e-12)
    return 1


# The table of left-hand sides is written to 6 decimals, everything else to 9 significant digits.
TOLERANCES = {"T23": 1e-6}


@pytest.mark.parametrize("vector", VECTORS, ids=[f"{vector['id']}-{at}" for at, vector in enumerate(VECTORS)])
def test_vector(vector: dict[str, Any]) -> None:
    found = RUN[vector["id"]](numbers(vector["inputs"]))
    assert agree(found, numbers(vector["expected"]), TOLERANCES.get(vector["id"], 6e-9)) >= 1
    checked[vector["id"]] += 1


def test_every_vector_is_run_and_nothing_else() -> None:
    assert len(VECTORS) == 62
    assert {vector["id"] for vector in VECTORS} == RUN.keys()
    if checked:  # this test alone proves only the two lines above
        assert checked == Counter(vector["id"] for vector in VECTORS)
