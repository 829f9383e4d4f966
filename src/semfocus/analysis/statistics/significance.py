"""Exact sign-flip tests, the intervals that they give, and Holm's correction."""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy import ndarray

#: of two-sided tests; intervals hold with 1 - ALPHA
ALPHA = 0.05
#: up to here all sign patterns are counted, a million at the most
MOST_VALUES = 20
#: beyond, so many are drawn: half of them, and with each the one with all signs turned
DRAWS = 100_000
#: so many of them at once as numbers
_ROWS = 2_000


def sign_flip_p(values: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Two-sided p of the hypothesis that each value might as well have had the other sign.

    The share of all 2^n sign patterns whose (weighted) sum is as far from 0 as the one observed. Beyond 20
    values, 100,000 drawn patterns and the observed one, so that p is never 0.

    >>> sign_flip_p([1.0, 2.0, 3.0])
    0.25
    """
    if not all(math.isfinite(value) for value in values):
        raise ValueError(f"expected finite values, got {list(values)}")
    if not any(values):
        return 1.0
    of, _ = _arranged(values, weights)
    total = math.fsum(of)
    if total < 0:
        of, total = -of, -total
    # Turning the signs of a subset takes the sum as far to the other side if the subset's sum is all of it,
    # and as far to this side if it is nothing. Sums of the same numbers in another order may differ by
    # rounding: equal ones count as equal.
    tolerance = 1e-9 * math.fsum(abs(of)) / 2
    if len(values) <= MOST_VALUES:
        return float(min(1.0, 2 * (subset_sums(of) <= tolerance).mean()))
    sums = _drawn_sums(of)
    as_far = int((sums <= tolerance).sum() + (sums >= total - tolerance).sum())
    return min(1.0, 2 * (as_far + 1) / (DRAWS + 1))


def smallest_p(num_pairs: int) -> float:
    """The smallest p that the sign-flip test can give with so many pairs: 0.25 with 3, 0.0625 with 5."""
    return min(1.0, 2.0 / 2**num_pairs) if num_pairs <= MOST_VALUES else 2 / (DRAWS + 1)


def sign_flip_interval(
    values: Sequence[float], alpha: float = ALPHA, weights: Sequence[float] | None = None
) -> tuple[float | None, float | None]:
    """Limits of the centre of symmetry; None: with so few values the test can reject nothing.

    Turning the signs of a subset makes the sum larger exactly if the subset's mean is below the centre. So
    the limits are order statistics of the means of all subsets (weighted means, if there are weights), and
    the centre 0 is outside exactly if `sign_flip_p` is at most alpha. Values may be infinite to one side: the
    limit on that side then is.

    >>> sign_flip_interval([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    (1.0, 6.0)
    >>> sign_flip_interval([1.0, 2.0, 3.0])
    (None, None)
    """
    return sign_flip_intervals(values, (alpha,), weights)[0]


def sign_flip_intervals(
    values: Sequence[float], alphas: Sequence[float], weights: Sequence[float] | None = None
) -> list[tuple[float | None, float | None]]:
    """The same at several levels, for little more than the price of one."""
    return list(_intervals(tuple(values), tuple(alphas), None if weights is None else tuple(weights)))


@lru_cache(maxsize=256)  # table, figure and claims of one study ask for the same
def _intervals(
    values: tuple[float, ...], alphas: tuple[float, ...], weights: tuple[float, ...] | None
) -> list[tuple[float | None, float | None]]:
    places = [rejecting_patterns(len(values), alpha) for alpha in alphas]
    if max(places) < 1:
        return [(None, None)] * len(places)
    infinite = {value for value in values if math.isinf(value)}
    means = _subset_means([0.0 if value in infinite else value for value in values], weights)
    ends = [each for place in places if place for each in (place - 1, len(means) - place)]
    means.partition(sorted(set(ends)))
    found: list[tuple[float | None, float | None]] = []
    for place in places:
        if place < 1:
            found.append((None, None))
            continue
        # each infinite value is in half of all subsets
        low = -math.inf if -math.inf in infinite else float(means[place - 1])
        high = math.inf if math.inf in infinite else float(means[len(means) - place])
        found.append((low, high))
    return found


def _subset_means(values: Sequence[float], weights: Sequence[float] | None) -> "ndarray[Any, Any]":
    """Of all subsets but the empty one, or of those drawn."""
    import numpy

    of, by = _arranged(values, weights)
    if len(values) <= MOST_VALUES:
        return subset_sums(of)[1:] / subset_sums(by)[1:]
    sums, sizes = _drawn_sums(of), _drawn_sums(by)
    sums, sizes = numpy.concatenate([sums, of.sum() - sums]), numpy.concatenate([sizes, by.sum() - sizes])
    there = sizes > 0.5 * by.min()
    return sums[there] / sizes[there]


def rejecting_patterns(num: int, alpha: float) -> int:
    """How many sign patterns may have a sum at least as high as the observed one, which is one of them."""
    patterns = 2**num if num <= MOST_VALUES else DRAWS + 1
    return math.floor(alpha * patterns / 2 * (1 + 1e-12))


def subset_sums(values: "Sequence[float] | ndarray[Any, Any]") -> "ndarray[Any, Any]":
    """The sums of all subsets, along the last axis, beginning with the empty one; values (..., n)."""
    import numpy

    given = numpy.asarray(values, dtype=float)
    sums = numpy.zeros((*given.shape[:-1], 1))
    for place in range(given.shape[-1]):
        sums = numpy.concatenate([sums, sums + given[..., place : place + 1]], axis=-1)
    return sums


def _drawn_sums(values: "ndarray[Any, Any]") -> "ndarray[Any, Any]":
    """The sums of half of the drawn subsets: eight values at a time, looked up among the 256 sums that these have."""
    import numpy

    sums = numpy.zeros(DRAWS // 2)
    for place, drawn in enumerate(_drawn_subsets(len(values))):
        sums += subset_sums(values[8 * place : 8 * place + 8]).take(drawn)
    return sums


@lru_cache(maxsize=4)
def _drawn_subsets(num: int) -> "ndarray[Any, Any]":
    """Half of the drawn subsets, the same for every call: for each eight values a row of bytes, a byte per subset.

    Drawn in parts: all of them unpacked would be 20 MB for 400 values.
    """
    import numpy

    draw = numpy.random.default_rng(num)
    parts = (draw.integers(0, 2, size=(_ROWS, num), dtype=numpy.int8) for _ in range(DRAWS // 2 // _ROWS))
    packed = [numpy.packbits(part, axis=1, bitorder="little") for part in parts]
    return numpy.ascontiguousarray(numpy.concatenate(packed).T)


def _arranged(
    values: Sequence[float], weights: Sequence[float] | None
) -> "tuple[ndarray[Any, Any], ndarray[Any, Any]]":
    """Weighted values and weights, sorted, so that the order of the values changes nothing, not even rounding."""
    import numpy

    pairs = sorted(zip(values, weights or [1.0] * len(values), strict=True))
    return numpy.array([value * weight for value, weight in pairs]), numpy.array(
        [weight for _, weight in pairs]
    )


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
