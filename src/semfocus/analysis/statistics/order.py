"""Order statistics and the quantile of Student's t: what intervals are made of."""

import math
from functools import lru_cache

#: of all intervals in this package
LEVEL = 0.95


@lru_cache
def t_factor(degrees_of_freedom: int, alpha: float = 1 - LEVEL) -> float:
    """How many standard errors an interval, of 95 % by default, reaches to each side: 4.30 with 2 degrees of freedom."""
    from scipy.special import stdtrit  # type: ignore[import-untyped]  # far quicker to import than scipy.stats

    return float(stdtrit(degrees_of_freedom, 1 - alpha / 2))


def median_place(num: int) -> int | None:
    """The place, counted from 0, whose value and its mirror image are limits of the median; None below 6 values.

    The median lies below all n values as often as a fair coin shows n heads, and so on for later places.

    >>> [median_place(num) for num in (3, 5, 6, 8, 9, 10, 20)]
    [None, None, 0, 0, 1, 1, 5]
    """
    tail, place = 0.0, None
    for candidate in range(num // 2):
        tail += math.comb(num, candidate) * 0.5**num
        if tail > (1 - LEVEL) / 2:
            break
        place = candidate
    return place
