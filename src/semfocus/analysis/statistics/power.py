"""How large a difference must be for the sign-flip test to see it, if values scatter normally."""

import math
from functools import lru_cache

from semfocus.analysis.statistics.significance import rejecting_patterns, subset_sums

#: up to here the test itself is simulated; beyond it behaves like Student's
_MOST_SIMULATED = 10
_DRAWS = 2000
_STEP = 0.1


def power(num: int, effect: float, spread: float, alpha: float = 0.05) -> float:
    """The probability that values of mean `effect` and standard deviation `spread` are found to be off 0, on
    the right side.

    >>> power(5, 100.0, 1.0)
    0.0
    >>> power(6, 100.0, 1.0)
    1.0
    """
    if rejecting_patterns(num, alpha) < 1:
        return 0.0
    if spread <= 0:
        return float(effect != 0)
    return _power(num, abs(effect) / spread, alpha)


def detectable(num: int, spread: float, alpha: float = 0.05, share: float = 0.8) -> float | None:
    """The smallest effect that is found with this probability; None if none ever is."""
    if rejecting_patterns(num, alpha) < 1:
        return None
    return spread * _standardised(num, alpha, share)


@lru_cache
def _standardised(num: int, alpha: float, share: float) -> float:
    low, high = 0.0, 1.0
    while _power(num, high, alpha) < share:
        low, high = high, 2 * high
    while high - low > 1e-4:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(num, middle, alpha) < share else (low, middle)
    return high


def _power(num: int, effect: float, alpha: float) -> float:
    """Linear between effects on a grid."""
    powers = _table(num, alpha)
    place = effect / _STEP
    below = math.floor(place) if place < len(powers) else len(powers)
    if below + 1 >= len(powers):
        return 1.0
    return powers[below] + (place - below) * (powers[below + 1] - powers[below])


@lru_cache
def _table(num: int, alpha: float) -> list[float]:
    """The power at effects 0, STEP, ... of standard deviation 1, until it is 1."""
    import numpy

    draws = numpy.random.default_rng(num).standard_normal((_DRAWS, num)) if num <= _MOST_SIMULATED else None
    found: list[float] = []
    while not found or found[-1] < 1.0 - 1e-9:
        effect = len(found) * _STEP
        if draws is None:
            from scipy.special import nctdtr, stdtrit  # type: ignore[import-untyped]

            threshold = stdtrit(num - 1, 1 - alpha / 2)
            found.append(float(1 - nctdtr(num - 1, effect * math.sqrt(num), threshold)))
        else:  # the same draws for every effect, so that power grows with it
            # of all sign patterns, those with a sum as high; the empty subset is the observed pattern
            as_high = (subset_sums(draws + effect) <= 0).sum(axis=-1)
            found.append(float((as_high <= rejecting_patterns(num, alpha)).mean()))
    return found
