"""Order statistics and the quantile of Student's t: what intervals are made of."""

import math
from functools import lru_cache

#: of all intervals in this package
LEVEL = 0.95


@lru_cache
def t_factor(degrees_of_freedom: int, alpha: float = 1 - LEVEL) -> float:
    """How many standard errors an interval, of 95 % by default, reaches to each side: 4.30 with 2 degrees of
    freedom.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _t_within(middle, degrees_of_freedom) < 1 - alpha else (low, middle)
    return math.sqrt(degrees_of_freedom) * math.tan(low)


def _t_within(angle: float, degrees_of_freedom: int) -> float:
    """How often Student's t is at most sqrt(degrees of freedom) * tan(angle) from 0: a finite sum for whole degrees.

    scipy has this too, and takes longer to load than the analysis of a study.
    """
    cosine, odd = math.cos(angle), degrees_of_freedom % 2
    term = total = 0.0 if degrees_of_freedom == 1 else cosine if odd else 1.0
    for power in range(2 + odd, degrees_of_freedom - 1, 2):
        term *= cosine**2 * (power - 1) / power
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


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
