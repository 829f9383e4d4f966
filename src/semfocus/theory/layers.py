"""Lipschitz constants of layers, blocks and whole models (docs/theory.md, section 7)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Values, log, log_product, not_negative, product, reals

#: largest slope of the activations
ACTIVATION_LIPSCHITZ = {"relu": 1.0, "gelu": 1.1289042, "mish": 1.0884982}


def layernorm_lipschitz(x: ArrayLike, eps: ArrayLike) -> Values:
    """**Local measured**: 1/s, s = sqrt(variance + ε), for tokens along the last axis, no affine part.

    Between any two tokens with s >= s0 the constant is 1/s0. +inf for a constant token with ε = 0, 0 for an
    infinite one.

    >>> round(float(layernorm_lipschitz([1, 2, 3, 4], 1e-5)), 6)
    0.894424
    """
    tokens = reals("x", x)
    if tokens.ndim == 0 or tokens.shape[-1] == 0:
        raise ValueError("x must have at least one entry along its last axis")
    finite = np.logical_and.reduce(np.isfinite(tokens), axis=-1)
    variance = np.where(finite, np.where(finite[..., None], tokens, 0.0).var(-1), np.inf)
    with np.errstate(divide="ignore"):
        return (1 / np.sqrt(variance + not_negative("eps", eps)))[()]


def block_lipschitz(
    kind: Literal["post", "pre"],
    z1: float,
    z2: float,
    lsig: float,
    B_P: float,
    B_R: float,
    lx: float,
    lw: float,
    lv: float,
    Xi: float,
) -> dict[str, float]:
    """**Exact** upper bounds for one block: change of its output for a change of its input, W, V, P or R.

    `z1`, `z2`: constants of the two LayerNorms; `lsig`: of the activation; `B_P`, `B_R`: spectral norms of the MLP;
    `lx`, `lw`, `lv`: λ_X, λ_W, λ_V of the attention; `Xi`: largest norm of a token that enters the MLP. Parameters:
    per token; input: in the sum of token norms. "post": LN(X + A(X)), then LN(· + MLP). "pre": X + A(LN X), then
    · + MLP(LN ·). An infinite constant times 0 is 0: what does not change cannot be enlarged.
    """
    if kind not in ("post", "pre"):
        raise ValueError(f"kind must be 'post' or 'pre', got {kind!r}")
    named = {"z1": z1, "z2": z2, "lsig": lsig, "B_P": B_P, "B_R": B_R, "lx": lx, "lw": lw, "lv": lv, "Xi": Xi}
    for name, value in named.items():
        not_negative(name, value)
    before = z2 if kind == "post" else 1.0
    mlp = {"P": product(before, lsig, B_R, Xi), "R": product(before, lsig, B_P, Xi)}
    if kind == "post":
        after = product(z1, z2, 1 + product(lsig, B_P, B_R))
        entering = product(after, 1 + lx)
    else:
        after = 1 + product(z2, lsig, B_P, B_R)
        entering = product(1 + product(z1, lx), after)
    found = {"input": entering, "W": product(after, lw), "V": product(after, lv), **mlp}
    return {name: float(value) for name, value in found.items()}


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
