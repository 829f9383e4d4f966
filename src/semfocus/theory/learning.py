"""What a Lipschitz constant says about learning: speed of descent and stability (docs/theory.md, section 8)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import (
    LOG_2,
    Floats,
    Values,
    counts,
    log,
    log_product,
    not_negative,
    positive,
    product,
)


def sgd_rate(L: ArrayLike, beta: ArrayLike, gap0: ArrayLike, T: ArrayLike) -> Values:
    """Upper bound L sqrt(2β gap0/T) on the smallest expected squared gradient norm in T steps of the best
    constant size.

    `L`: of the loss; `beta`: its smoothness; `gap0`: initial loss minus lowest loss. Needs a smooth loss: a flip of a
    top-k mask breaks it.
    """
    lipschitz, smooth = not_negative("L", L), not_negative("beta", beta)
    return product(lipschitz, np.sqrt(product(2, smooth, not_negative("gap0", gap0), 1 / counts("T", T))))


def sgd_iterations(L: ArrayLike, beta: ArrayLike, gap0: ArrayLike, eps: ArrayLike) -> Values:
    """Steps after which `sgd_rate` is at most eps²: 2β gap0 L²/eps⁴."""
    lipschitz, smooth = not_negative("L", L), not_negative("beta", beta)
    gap, near = not_negative("gap0", gap0), positive("eps", eps)
    with np.errstate(divide="ignore", over="ignore"):
        inverse = 1 / near
    return product(2, smooth, gap, lipschitz, inverse, lipschitz, inverse, inverse, inverse)


def hrs_bound(L: float, beta: float, c: float, T: int, n: int, M: float = 1) -> float:
    """Uniform stability of SGD with steps at most c/t over n samples (after Hardt, Recht and Singer 2016).

    For a loss in [0, M], L-Lipschitz and β-smooth for every sample, one sample per step, T steps; never more than M.
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
    once = LOG_2 + np.log(c) + 2 * np.log(L)
    # M to the power 1 - power, T too; an infinite constant to the power 0 does not count
    logarithm = (
        (1 - power) * (np.log(M) + np.log(T))
        + np.log1p(1 / growth)
        - np.log(n - 1)
        + (power * once if power else 0.0)
    )
    with np.errstate(over="ignore"):
        return float(min(M, np.exp(logarithm)))


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
    burn_in = product(M, np.minimum(1.0, together * np.arange(len(sizes) + 1) / num))
    once = log_product(LOG_2, log(L_grad), log(L_pair), -np.log(num))
    totals = burn_in + _after(sizes, once, product(beta, 1 - 1 / num))
    best = int(np.argmin(totals))
    return float(min(M, totals[best])), best


def _after(sizes: Floats, once: float, growth: float) -> Floats:
    """For t0 = 0..T what the steps after t0 add; in logarithms, since the factors of many steps overflow.

    `once`: log of what a step of size 1 adds, if nothing grows after it.
    """
    grown = np.log1p(product(growth, sizes))
    later = np.concatenate([np.cumsum(grown[::-1])[::-1][1:], [0.0]]) if len(sizes) else sizes
    terms = log_product(once, log(sizes), later) if len(sizes) else sizes
    with np.errstate(over="ignore"):  # infinite: more than any loss
        added = np.exp(np.asarray(terms))
        return np.concatenate([np.cumsum(added[::-1])[::-1], [0.0]])
