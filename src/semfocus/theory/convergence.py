"""What a Lipschitz constant says about the speed of stochastic gradient descent (docs/theory.md, section 8)."""

import numpy as np
from numpy.typing import ArrayLike

from semfocus.theory.arguments import Values, counts, not_negative, positive, product


def sgd_rate(L: ArrayLike, beta: ArrayLike, gap0: ArrayLike, T: ArrayLike) -> Values:
    """Upper bound L sqrt(2β gap0/T) on the smallest expected squared gradient norm in T steps of the best constant size.

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
