"""How many times faster one arm is than another, paired by seed, where some times are only known to be long."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Literal

from semfocus.analysis.statistics.order import t_factor
from semfocus.analysis.statistics.significance import ALPHA, sign_flip_interval, sign_flip_p

Bounds = tuple[float, float]
#: from so many pairs on the sign-flip test can reject at 5 %; below, an interval assumes that log ratios are normal
FEWEST_FLIPPED = 6
FEWEST_NORMAL = 3
#: two arms are equivalent if neither is faster by more than this factor
EQUIVALENT = 1.25


@dataclass(frozen=True)
class Time:
    """When a target was first seen reached; not `reached`: `value` is the last time looked at.

    `resolution` is the time since the look before: the target was passed somewhere between the two. For a
    model that is there untrained (value 0) it is the time of the first epoch, the shortest that could be told.
    """

    value: float
    reached: bool
    resolution: float = 0.0

    @property
    def counted(self) -> Bounds:
        """The time as the paper counts it, by looks."""
        if not self.reached:
            return self.value, math.inf
        return (self.value, self.value) if self.value > 0 else (0.0, self.resolution or math.inf)

    @property
    def passed(self) -> Bounds:
        """Where the target may really have been passed: since the look before."""
        low, high = self.counted
        return (max(0.0, low - self.resolution), high) if self.reached else (low, high)


@dataclass(frozen=True)
class Pair:
    """The ratio of one seed, baseline / arm: two equal numbers, or what censoring leaves open (0 and inf)."""

    seed: int
    ratio_low: float
    ratio_high: float
    #: the same if each target was passed anywhere since the look before
    passed_low: float
    passed_high: float

    @property
    def nearest_log(self) -> float:
        """The log ratio nearest to 0 (no difference) that the data allow."""
        if self.ratio_low > 1:
            return math.log(self.ratio_low)
        return math.log(self.ratio_high) if self.ratio_high < 1 else 0.0


@dataclass(frozen=True)
class Speedup:
    """The median ratio over seeds with its interval, of 95 % unless `alpha` says else; None: no such limit follows.

    `at_least`: the median is not below `ratio`, and may be above; `at_most`: the other way round. `method` of
    the interval: "sign flip" (from 6 pairs on), "t" (3 to 5, assumes log-normal ratios) or "none". `p` is
    that of the sign-flip test.
    """

    ratio: float | None
    low: float | None
    high: float | None
    pairs: list[Pair] = field(default_factory=list)
    at_least: bool = False
    at_most: bool = False
    method: Literal["sign flip", "t", "none"] = "none"
    p: float | None = None
    alpha: float = ALPHA
    #: whether both one-sided tests against a factor of 1.25 reject, each at `alpha`, and the estimate lies within it
    is_equivalent: bool = False
    #: runs of either arm that have not ended
    num_open: int = 0
    #: if `at_least`, the largest median that the data allow; None: no such bound follows
    largest: float | None = None

    @property
    def num_pairs(self) -> int:
        return len(self.pairs)

    @property
    def bound(self) -> str:
        """On which side of `ratio` the truth may lie: "at least", "at most", or "" where it is known."""
        return "at least" if self.at_least else "at most" if self.at_most else ""

    @property
    def is_informative(self) -> bool:
        """Whether a run of some pair got there: elsewhere there is nothing to be faster at."""
        return any(pair.ratio_low > 0 or pair.ratio_high < math.inf for pair in self.pairs)

    @property
    def is_above_one(self) -> bool | None:
        """Whether the estimate says faster, or slower; None where it may be either: unknown, or at least 0.5.

        At least 0.5 and at most 0.8 is slower: some runs of the arm never arrived, fewer than half.
        """
        if self.ratio is None or self.ratio == 1:
            return None
        if self.ratio > 1:
            return None if self.at_most else True
        is_below = not self.at_least or (self.largest is not None and self.largest < 1)
        return False if is_below else None

    @property
    def is_ahead(self) -> bool:
        """Whether the whole interval and the estimate lie above 1; by the sign-flip test the interval may
        begin there.
        """
        beyond = self.low is not None and (self.low > 1 or (self.low == 1 and self._is_rejected))
        return beyond and self.is_above_one is True

    @property
    def is_behind(self) -> bool:
        """Whether the whole interval and the estimate lie below 1; by the sign-flip test the interval may end there."""
        beyond = self.high is not None and (self.high < 1 or (self.high == 1 and self._is_rejected))
        return beyond and self.is_above_one is False

    @property
    def _is_rejected(self) -> bool:
        return self.method == "sign flip" and self.p is not None and self.p <= self.alpha

    @property
    def logs(self) -> list[float]:
        """For the sign-flip test: each seed's log ratio, of those that the data allow the nearest to 0."""
        return [pair.nearest_log for pair in self.pairs]


def paired_speedup(
    base: Mapping[int, Time], arm: Mapping[int, Time], alpha: float = ALPHA, num_open: int = 0
) -> Speedup:
    """Ratios base / arm of the seeds that both have, their median, and an interval for it; `num_open` runs
    have not ended.

    >>> speedup = paired_speedup({1: Time(40, True), 2: Time(50, False)}, {1: Time(8, True), 2: Time(7, True)})
    >>> [(pair.ratio_low, pair.ratio_high) for pair in speedup.pairs]
    [(5.0, 5.0), (7.142857142857143, inf)]
    """
    pairs = [_pair(seed, base[seed], arm[seed]) for seed in sorted(base.keys() & arm.keys())]
    if not pairs:
        return Speedup(None, None, None, alpha=alpha, num_open=num_open)
    low = median(log_of(pair.ratio_low) for pair in pairs)
    high = median(log_of(pair.ratio_high) for pair in pairs)
    known = low if math.isfinite(low) else high
    nearest = [pair.nearest_log for pair in pairs]
    p = sign_flip_p(nearest)
    limits, method = _interval(pairs, alpha)
    if method == "sign flip":
        limits = agreeing(limits, p <= alpha, math.fsum(nearest), known)
    inner, _ = _interval(pairs, 2 * alpha)
    # two tests look at the mean of the logarithms: where the median lies outside, "within a factor of 1.25"
    # would contradict it
    farthest = max(-inner[0], inner[1], -low, high)
    return Speedup(
        ratio=ratio_of(known),
        low=ratio_of(limits[0]),
        high=ratio_of(limits[1]),
        pairs=pairs,
        at_least=math.isfinite(low) and low != high,
        at_most=not math.isfinite(low) and math.isfinite(high),
        largest=ratio_of(high),
        method=method,
        p=p,
        alpha=alpha,
        is_equivalent=method == "sign flip" and farthest < math.log(EQUIVALENT),
        num_open=num_open,
    )


def _pair(seed: int, base: Time, arm: Time) -> Pair:
    return Pair(seed, *_quotient(base.counted, arm.counted), *_quotient(base.passed, arm.passed))


def _quotient(base: Bounds, arm: Bounds) -> Bounds:
    return base[0] / arm[1], base[1] / arm[0] if arm[0] > 0 else math.inf


def _interval(pairs: list[Pair], alpha: float) -> tuple[Bounds, Literal["sign flip", "t", "none"]]:
    """Limits of the log ratio: the lower one from the smallest values the data allow, the upper from the largest.

    The true values are nowhere below the smallest allowed, so a limit that holds for the centre of the smallest
    holds for the centre of the true ones.
    """
    lows, highs = [log_of(pair.passed_low) for pair in pairs], [log_of(pair.passed_high) for pair in pairs]
    num = len(pairs)
    if num >= FEWEST_FLIPPED:
        low, high = sign_flip_interval(lows, alpha)[0], sign_flip_interval(highs, alpha)[1]
        if low is not None and high is not None:
            return (low, high), "sign flip"
        return (-math.inf, math.inf), "none"  # a level that so few pairs cannot give
    if num >= FEWEST_NORMAL:
        return (_t_limit(lows, -1, alpha), _t_limit(highs, 1, alpha)), "t"
    return (-math.inf, math.inf), "none"


def agreeing(limits: Bounds, is_rejected: bool, total: float, known: float) -> Bounds:
    """The limits in agreement with the test of no difference, and with the estimate between them.

    The test takes a censored pair by its value nearest to 0 and whole epochs as they were counted, and is
    exact all the same. So where it rejects, 0 and what lies beyond it are no part of the interval, however
    little else is known.
    """
    low, high = limits
    if is_rejected and total > 0:
        low = max(low, 0.0)
    if is_rejected and total < 0:
        high = min(high, 0.0)
    return (min(low, known), max(high, known)) if math.isfinite(known) else (low, high)


def _t_limit(values: list[float], side: int, alpha: float) -> float:
    if not all(math.isfinite(value) for value in values):
        return side * math.inf
    num = len(values)
    mean = math.fsum(values) / num
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (num - 1) / num)
    return mean + side * t_factor(num - 1, alpha) * error


def log_of(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def ratio_of(log: float | None) -> float | None:
    return math.exp(log) if log is not None and math.isfinite(log) else None
