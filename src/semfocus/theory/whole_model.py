"""The Lipschitz constant of the loss in all parameters of a model of several blocks (docs/theory.md, section 7)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from semfocus.theory.arguments import log, log_product, not_negative

PARAMETERS = ("W", "V", "P", "R")


def model_lipschitz(
    blocks: Sequence[Mapping[str, float]], alpha: float, rho: float, Xi_out: float
) -> dict[str, Any]:
    """**Exact** upper bound: |Δloss| <= Σ_t (W_t‖dW_t‖ + V_t‖dV_t‖ + P_t‖dP_t‖ + R_t‖dR_t‖) + readout ‖dΦ‖.

    `blocks`: what `block_lipschitz` returns, first block first; `alpha`: of the loss in the logits (√2 for
    cross-entropy); `rho`: spectral norm of the readout after mean pooling; `Xi_out`: norm of the pooled token. "W" to
    "R": one coefficient a block; "input": in the mean of the token norms of the input; "max": for the sum of all
    norms as distance; "fro": for the Euclidean norm of all of them. Too large for a float becomes +inf.
    """
    outside = log_product(log(not_negative("alpha", alpha)), log(not_negative("rho", rho)))
    coefficients: dict[str, list[float]] = {name: [] for name in PARAMETERS}
    for block in reversed(blocks):
        for name in PARAMETERS:
            coefficients[name].append(log_product(outside, log(not_negative(name, block[name]))))
        outside = log_product(outside, log(not_negative("input", block["input"])))
    readout = log_product(log(not_negative("alpha", alpha)), log(not_negative("Xi_out", Xi_out)))
    everything = np.array([*(each for logs in coefficients.values() for each in logs), readout])
    largest = everything.max()
    spread = np.exp(2 * (everything - largest)).sum() if np.isfinite(largest) else 1.0
    with np.errstate(over="ignore"):
        return {
            **{name: [float(np.exp(each)) for each in reversed(logs)] for name, logs in coefficients.items()},
            "readout": float(np.exp(readout)),
            "max": float(np.exp(largest)),
            "fro": float(np.exp(largest + 0.5 * np.log(spread))),
            "input": float(np.exp(outside)),
        }
