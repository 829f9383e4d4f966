"""Lipschitz constants of LayerNorm and of one transformer block (docs/theory.md, section 7)."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Values, not_negative, product, reals

#: largest slope of the activations
ACTIVATION_LIPSCHITZ = {"relu": 1.0, "gelu": 1.1289042, "mish": 1.0884982}


def layernorm_lipschitz(x: ArrayLike, eps: ArrayLike) -> Values:
    """**Local measured**: 1/s, s = sqrt(variance + ε), for tokens along the last axis, no affine part.

    Between any two tokens with s >= s0 the constant is 1/s0. +inf for a constant token with ε = 0, 0 for an infinite one.

    >>> round(float(layernorm_lipschitz([1, 2, 3, 4], 1e-5)), 6)
    0.894424
    """
    tokens = reals("x", x)
    if tokens.ndim == 0 or tokens.shape[-1] == 0:
        raise ValueError("x must have at least one entry along its last axis")
    finite = np.asarray(np.isfinite(tokens).all(-1))
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
