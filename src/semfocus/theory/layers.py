"""Lipschitz constants of LayerNorm and of one transformer block (docs/theory.md, section 7)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Values, not_negative, reals

#: largest slope of the activations
ACTIVATION_LIPSCHITZ = {"relu": 1.0, "gelu": 1.1289042, "mish": 1.0884982}


def layernorm_lipschitz(x: ArrayLike, eps: ArrayLike) -> Values:
    """**Local measured**: 1/s, s = sqrt(variance + ε), for tokens along the last axis, no affine part.

    Between any two tokens with s >= s0 the constant is 1/s0. +inf for a constant token with ε = 0.

    >>> round(float(layernorm_lipschitz([1, 2, 3, 4], 1e-5)), 6)
    0.894424
    """
    tokens = reals("x", x)
    if tokens.ndim == 0 or tokens.shape[-1] == 0:
        raise ValueError("x must have at least one entry along its last axis")
    with np.errstate(divide="ignore"):
        return (1 / np.sqrt(tokens.var(-1) + not_negative("eps", eps)))[()]


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
    · + MLP(LN ·).
    """
    if kind not in ("post", "pre"):
        raise ValueError(f"kind must be 'post' or 'pre', got {kind!r}")
    named = {"z1": z1, "z2": z2, "lsig": lsig, "B_P": B_P, "B_R": B_R, "lx": lx, "lw": lw, "lv": lv, "Xi": Xi}
    for name, value in named.items():
        not_negative(name, value)
    mlp_p, mlp_r = lsig * B_R * Xi, lsig * B_P * Xi
    if kind == "post":
        after = z1 * z2 * (1 + lsig * B_P * B_R)
        return {"input": after * (1 + lx), "W": after * lw, "V": after * lv, "P": z2 * mlp_p, "R": z2 * mlp_r}
    after = 1 + z2 * lsig * B_P * B_R
    return {"input": (1 + z1 * lx) * after, "W": after * lw, "V": after * lv, "P": mlp_p, "R": mlp_r}
