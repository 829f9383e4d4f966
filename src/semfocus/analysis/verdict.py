"""Whether an arm is faster than another, slower, or neither clearly, and how many seeds it takes to say so."""

from collections.abc import Iterable
from typing import Literal

from semfocus.analysis.statistics import Speedup
from semfocus.words import count_of

#: fewer pairs of seeds than this give estimates and intervals, but no verdict: neither in a sentence nor on a claim
FEWEST_PAIRS = 5

Side = Literal["faster", "unclear", "slower", "too few seeds"]


def enough(speedup: Speedup) -> bool:
    """Whether there are pairs enough for a verdict."""
    return speedup.num_pairs >= FEWEST_PAIRS


def is_ahead(speedup: Speedup) -> bool:
    """Whether the whole interval lies above 1."""
    return speedup.is_ahead


def is_behind(speedup: Speedup) -> bool:
    """Whether the whole interval lies below 1."""
    return speedup.is_behind


def side(speedup: Speedup | None) -> Side | None:
    """By the 95 % interval, given enough pairs; None where there is no pair at all."""
    if speedup is None or not speedup.pairs:
        return None
    if not enough(speedup):
        return "too few seeds"
    return "faster" if is_ahead(speedup) else "slower" if is_behind(speedup) else "unclear"


def estimate_order(speedup: Speedup) -> tuple[bool, float, float]:
    """Large for a large median; one that is only bounded from above comes after all others."""
    return not speedup.at_most, speedup.ratio or 0.0, speedup.low or 0.0


def estimated_above_one(speedup: Speedup) -> bool | None:
    """Whether the estimate says faster, or slower; None where it may be either: unknown, or at least 0.5."""
    if speedup.ratio is None or speedup.ratio == 1:
        return None
    if speedup.ratio > 1:
        return None if speedup.at_most else True
    return None if speedup.at_least else False


def pairs_text(speedups: Iterable[Speedup]) -> str:
    """`2 seeds`, `2 to 4 seeds`: how many pairs there are."""
    numbers = {speedup.num_pairs for speedup in speedups}
    low, high = min(numbers), max(numbers)
    return count_of(low, "seed") if low == high else f"{low} to {high} seeds"
