"""Numbers that come from a user, checked and made float64 before anything is computed."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
#: an np.float64 where every argument is a number, else an array
Values: TypeAlias = Any

LOG_2 = float(np.log(2.0))


def reals(name: str, value: ArrayLike) -> Floats:
    """Float64, infinities allowed; NaN is a ValueError."""
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number or an array of numbers, got {value!r}") from None
    if np.isnan(found).any():
        raise ValueError(f"{name} must not be NaN")
    return found


def finite(name: str, value: ArrayLike) -> Floats:
    """Reals without infinities, such as tokens: the difference of two infinite ones has no value."""
    found = reals(name, value)
    if np.isinf(found).any():
        raise ValueError(f"{name} must be finite")
    return found


def not_negative(name: str, value: ArrayLike) -> Floats:
    """Reals that are at least 0, such as a dispersion or a norm."""
    found = reals(name, value)
    if (found < 0).any():
        raise ValueError(f"{name} must be at least 0, got {found.min():g}")
    return found


def positive(name: str, value: ArrayLike) -> Floats:
    """Reals above 0."""
    found = reals(name, value)
    if (found <= 0).any():
        raise ValueError(f"{name} must be greater than 0, got {found.min():g}")
    return found


def counts(name: str, value: ArrayLike, smallest: int = 1) -> NDArray[np.int64]:
    """Integers that are at least `smallest`; 5.0 and True are refused."""
    found = np.asarray(value)
    if found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be an integer, got {value!r}")
    if (found < smallest).any():
        raise ValueError(f"{name} must be at least {smallest}, got {found.min()}")
    return found.astype(np.int64)


def probabilities(name: str, value: ArrayLike) -> Floats:
    """Distributions along the last axis: not negative, and a sum of 1 within 1e-6."""
    found = not_negative(name, value)
    if found.ndim == 0 or found.shape[-1] == 0:
        raise ValueError(f"{name} must have at least one entry along its last axis")
    sums = found.sum(-1)
    wrong = np.abs(sums - 1) > 1e-6
    if wrong.any():
        raise ValueError(f"{name} must sum to 1, got a sum of {sums[wrong].flat[0]:g}")
    return found


def log(value: ArrayLike) -> Floats:
    """The logarithm with -inf for 0, in silence."""
    with np.errstate(divide="ignore"):
        return np.log(value)


def log_inverse(separation: Floats) -> Floats:
    """log(1 / Δ): +inf where Δ is 0 or less (a tie: no finite constant), -inf where Δ is infinite."""
    return -log(np.maximum(separation, 0.0))


def log_one_plus_inverse(separation: Floats) -> Floats:
    """log(1 + 1 / Δ), 0 where Δ is infinite and +inf where it is 0 or less."""
    return np.logaddexp(0.0, log_inverse(separation))


def log_product(*factors: ArrayLike) -> Values:
    """The sum of logarithms, in which a factor of 0 wins over an infinite one."""
    known = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in factors))
    zero = np.any([np.isneginf(each) for each in known], axis=0)
    total = np.sum([np.where(zero, 0.0, each) for each in known], axis=0)
    return np.where(zero, -np.inf, total)[()]


def product(*factors: ArrayLike) -> Values:
    """The product of factors that are not negative: 0 wins over an infinite one, and too large is +inf, in silence."""
    known = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in factors))
    zero = np.any([each == 0 for each in known], axis=0)
    with np.errstate(over="ignore", under="ignore"):
        total = np.prod([np.where(np.isinf(each), 1.0, each) for each in known], axis=0)
    # Apart from the others, whose product may be too small for a number above 0.
    infinite = np.any([np.isinf(each) for each in known], axis=0) & ~zero
    return np.where(infinite, np.inf, total)[()]
