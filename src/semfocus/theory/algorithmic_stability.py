"""What a Lipschitz constant says about the generalisation of stochastic gradient descent (docs/theory.md, section 8)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Floats, counts, log, log_product, not_negative, positive


def hrs_bound(L: float, beta: float, c: float, T: int, n: int, M: float = 1) -> float:
    """Uniform stability of SGD with steps at most c/t over n samples (after Hardt, Recht and Singer 2016).

    For a loss in [0, M], L-Lipschitz and β-smooth for every sample, one sample a step, T steps; never more than M.
    The constant enters with power 2/(βc+1). As βc goes to 0 the bound grows without limit and M remains.
    """
    not_negative("L", L), not_negative("beta", beta), not_negative("c", c), positive("M", M)
    counts("T", T), counts("n", n, 2)
    if L == 0 or c == 0:
        return 0.0
    growth = beta * c
    if growth == 0:
        return float(M)
    power = 1 / (growth + 1)
    logarithm = (
        np.log(M)
        + np.log1p(1 / growth)
        - np.log(n - 1)
        + power * np.log(2 * c * L**2 / M)
        + growth * power * np.log(T)
    )
    return float(min(M, np.exp(min(logarithm, 700.0))))


def stability_schedule(
    steps: Sequence[float] | ArrayLike,
    L_grad: float,
    L_pair: float,
    beta: float,
    n: int,
    M: float = 1,
    batch: int = 1,
) -> tuple[float, int]:
    """(bound, t0): the same for any step sizes, the two roles of L apart, at the best burn-in t0.

    min over t0 of M min(1, batch t0/n) + L_pair Σ_{t>t0} (2 α_t L_grad/n) Π_{s>t} (1 + (1-1/n) β α_s).
    `L_grad` bounds gradients, `L_pair` the loss between two settings: with top-k the first sees a frozen mask (no
    1/Δ), the second does not.
    """
    sizes = not_negative("steps", np.asarray(steps, dtype=np.float64).reshape(-1))
    for name, value in (("L_grad", L_grad), ("L_pair", L_pair), ("beta", beta)):
        not_negative(name, value)
    positive("M", M)
    num, together = int(counts("n", n)), int(counts("batch", batch))
    burn_in = M * np.minimum(1.0, together * np.arange(len(sizes) + 1) / num)
    totals = burn_in + _after(sizes, L_grad * L_pair, beta * (1 - 1 / num), num)
    best = int(np.argmin(totals))
    return float(min(M, totals[best])), best


def _after(sizes: Floats, product: float, growth: float, num: int) -> Floats:
    """For t0 = 0..T what the steps after t0 add; in logarithms, since the factors of many steps overflow."""
    later = (
        np.concatenate([np.cumsum(np.log1p(growth * sizes)[::-1])[::-1][1:], [0.0]]) if len(sizes) else sizes
    )
    terms = log_product(log(2 * product / num), log(sizes), later) if len(sizes) else sizes
    with np.errstate(over="ignore"):
        added = np.exp(np.asarray(terms))
    return np.concatenate([np.cumsum(added[::-1])[::-1], [0.0]])
