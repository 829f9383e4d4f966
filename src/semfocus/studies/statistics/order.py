"""Which of n sorted values bracket the true median with 95 %, whatever the distribution."""

import math

from semfocus.studies.statistics.student import LEVEL


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
