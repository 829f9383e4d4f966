"""The interval that belongs to the exact sign-flip test: all centres that it does not reject."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import ndarray

#: all subsets of so many values are counted: a million means
MOST_VALUES = 20


def sign_flip_interval(values: Sequence[float], alpha: float = 0.05) -> tuple[float | None, float | None]:
    """Limits of the centre of symmetry; None: with so few values the test can reject nothing.

    Turning the signs of a subset makes the sum larger exactly if the subset's mean is below the centre. So the limits are
    order statistics of the means of all subsets, and the centre 0 is outside exactly if `sign_flip_p` is at most alpha.

    >>> sign_flip_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    (1.0, 6.0)
    >>> sign_flip_interval([1.0, 2.0, 3.0])
    (None, None)
    """
    num = len(values)
    place = rejecting_patterns(num, alpha)
    if place < 1:
        return None, None
    means = subset_sums(values)[1:] / _sizes(num)[1:]
    means.sort()
    return float(means[place - 1]), float(means[-place])


def rejecting_patterns(num: int, alpha: float) -> int:
    """How many sign patterns may have a sum at least as high as the observed one."""
    if num > MOST_VALUES:
        raise ValueError(f"expected at most {MOST_VALUES} values, got {num}")
    return math.floor(alpha * 2**num / 2 * (1 + 1e-12))


def subset_sums(values: "Sequence[float] | ndarray[Any, Any]") -> "ndarray[Any, Any]":
    """The sums of all subsets, along the last axis, beginning with the empty one; values (..., n)."""
    import numpy

    given = numpy.asarray(values, dtype=float)
    sums = numpy.zeros((*given.shape[:-1], 1))
    for place in range(given.shape[-1]):
        sums = numpy.concatenate([sums, sums + given[..., place : place + 1]], axis=-1)
    return sums


@lru_cache
def _sizes(num: int) -> "ndarray[Any, Any]":
    return subset_sums([1.0] * num)
