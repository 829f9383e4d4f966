"""The verdict on one arm against another, how many seeds it takes, and what an estimate alone says."""

from collections.abc import Iterable
from typing import Literal

from semfocus.analysis.statistics import Speedup
from semfocus.analysis.statistics.pooling import PooledSpeedup
from semfocus.words import count_of

SpeedupVerdict = Literal["faster", "slower", "equivalent", "undecided"]
#: fewer pairs of seeds than this give estimates and intervals, but no verdict: neither in a sentence nor on a claim
FEWEST_PAIRS = 5
#: the same for each of several tasks that are pooled: from here on a task has an interval of its own
FEWEST_POOLED = 3


def enough(speedup: Speedup | PooledSpeedup) -> bool:
    """Whether there are pairs enough for a verdict, over several tasks on each of them."""
    if isinstance(speedup, PooledSpeedup):
        return all(each.num_pairs >= FEWEST_POOLED for each in speedup.tasks.values())
    return speedup.num_pairs >= FEWEST_PAIRS


def verdict_of(speedup: Speedup | PooledSpeedup | None) -> SpeedupVerdict:
    """Faster, slower, shown to be neither by a factor of 1.25, or undecided; the only place that decides it.

    Whoever judges while runs go on, as soon as a test looks good, finds something in noise.
    """
    if speedup is None or speedup.num_open or not enough(speedup):
        return "undecided"
    if speedup.is_ahead:
        return "faster"
    if speedup.is_behind:
        return "slower"
    return "equivalent" if speedup.is_equivalent else "undecided"


def why_open(speedup: Speedup | PooledSpeedup) -> str:
    """Why there is no verdict, whatever the numbers: `2 runs have not ended`, `too few seeds`; else nothing."""
    if speedup.num_open:
        return f"{count_of(speedup.num_open, 'run')} {'has' if speedup.num_open == 1 else 'have'} not ended"
    return "" if enough(speedup) else "too few seeds"


def estimate_order(speedup: Speedup) -> tuple[bool, float, float]:
    """Large for a large median; one that is only bounded from above comes after all others."""
    return not speedup.at_most, speedup.ratio or 0.0, speedup.low or 0.0


def pairs_text(speedups: Iterable[Speedup]) -> str:
    """`2 seeds`, `2 to 4 seeds`: how many pairs there are."""
    numbers = {speedup.num_pairs for speedup in speedups}
    low, high = min(numbers), max(numbers)
    return count_of(low, "seed") if low == high else f"{low} to {high} seeds"
