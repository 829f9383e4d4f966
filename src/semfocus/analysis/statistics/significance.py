"""Exact sign-flip tests, Holm's correction, and the interval that the test gives."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import ndarray


#: up to here all sign patterns are counted; half a million sums at the most
_MOST_ENUMERATED = 20
_BATCHES, _DRAWS_A_BATCH = 100, 1000


def sign_flip_p(values: Sequence[float]) -> float:
    """Two-sided p of the hypothesis that each value might as well have had the other sign.

    The share of all 2^n sign patterns whose sum is as far from 0 as the one observed. Beyond 20 values,
    100,000 drawn patterns and the observed one, so that p is never 0.

    >>> sign_flip_p([1.0, 2.0, 3.0])
    0.25
    """
    import numpy

    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"expected finite values, got {list(values)}")
    # Sorted, so that the order of the values changes nothing, not even rounding.
    sizes = sorted((abs(value) for value in values if value != 0), reverse=True)
    if not sizes:
        return 1.0
    # Sums of the same numbers in another order may differ by rounding: equal ones count as equal.
    threshold = abs(math.fsum(values)) - 1e-9 * math.fsum(sizes)
    if len(sizes) <= _MOST_ENUMERATED:
        # The first sign is fixed: turning all signs leaves the distance from 0 as it is.
        sums = numpy.array(sizes[:1])
        for size in sizes[1:]:
            sums = numpy.concatenate([sums + size, sums - size])
        return float((abs(sums) >= threshold).mean())
    draw, far = numpy.random.default_rng(0), 0
    for _ in range(_BATCHES):
        signs = draw.choice([-1.0, 1.0], size=(_DRAWS_A_BATCH, len(sizes)))
        far += int((abs(signs @ numpy.array(sizes)) >= threshold).sum())
    return (far + 1) / (_BATCHES * _DRAWS_A_BATCH + 1)


def smallest_p(num_pairs: int) -> float:
    """The smallest p that the sign-flip test can give with so many pairs: 0.25 with 3, 0.0625 with 5."""
    return min(1.0, 2.0 / 2**num_pairs)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Adjusted p values: all those at most 0.05 are wrong in none of the cases with 95 %.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted: dict[str, float] = {}
    largest = 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


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
