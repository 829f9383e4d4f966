"""How many times faster one arm is than another, paired by seed, where some times are only known to be long."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import median

from semfocus.analysis.statistics.order import median_place, t_factor

Bounds = tuple[float, float]


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
    """The median ratio over seeds with its 95 % interval; None: no such limit follows from the data.

    `at_least`: the median is not below `ratio`, and may be above; `at_most`: the other way round.
    """

    ratio: float | None
    low: float | None
    high: float | None
    pairs: list[Pair] = field(default_factory=list)
    at_least: bool = False
    at_most: bool = False
    method: str = "none"

    @property
    def num_pairs(self) -> int:
        return len(self.pairs)

    @property
    def logs(self) -> list[float]:
        """For the sign-flip test: each seed's log ratio, of those that the data allow the nearest to 0."""
        return [pair.nearest_log for pair in self.pairs]


def paired_speedup(base: Mapping[int, Time], arm: Mapping[int, Time]) -> Speedup:
    """Ratios base / arm of the seeds that both have, their median, and an interval for it.

    >>> speedup = paired_speedup({1: Time(40, True), 2: Time(50, False)}, {1: Time(8, True), 2: Time(7, True)})
    >>> [(pair.ratio_low, pair.ratio_high) for pair in speedup.pairs]
    [(5.0, 5.0), (7.142857142857143, inf)]
    """
    pairs = [_pair(seed, base[seed], arm[seed]) for seed in sorted(base.keys() & arm.keys())]
    if not pairs:
        return Speedup(None, None, None)
    low = median(_log(pair.ratio_low) for pair in pairs)
    high = median(_log(pair.ratio_high) for pair in pairs)
    known = low if math.isfinite(low) else high
    limits, method = _interval(
        sorted(_log(pair.passed_low) for pair in pairs), sorted(_log(pair.passed_high) for pair in pairs)
    )
    return Speedup(
        ratio=_ratio(known),
        low=_ratio(limits[0]),
        high=_ratio(limits[1]),
        pairs=pairs,
        at_least=math.isfinite(low) and low != high,
        at_most=not math.isfinite(low) and math.isfinite(high),
        method=method,
    )


def _pair(seed: int, base: Time, arm: Time) -> Pair:
    return Pair(seed, *_quotient(base.counted, arm.counted), *_quotient(base.passed, arm.passed))


def _quotient(base: Bounds, arm: Bounds) -> Bounds:
    return base[0] / arm[1], base[1] / arm[0] if arm[0] > 0 else math.inf


def _interval(lows: list[float], highs: list[float]) -> tuple[Bounds, str]:
    """Limits of the median log ratio: the lower one from the smallest values the data allow, the upper from the largest.

    The true values are nowhere below the smallest allowed, so a limit that holds for the centre of the smallest
    holds for the centre of the true ones.
    """
    num = len(lows)
    place = median_place(num)
    if place is not None:
        return (lows[place], highs[num - 1 - place]), "order statistics"
    if num >= 2:
        return (_t_limit(lows, -1), _t_limit(highs, 1)), "t"
    return (-math.inf, math.inf), "none"


def _t_limit(values: list[float], side: int) -> float:
    if not all(math.isfinite(value) for value in values):
        return side * math.inf
    num = len(values)
    mean = math.fsum(values) / num
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (num - 1) / num)
    return mean + side * t_factor(num - 1) * error


def _log(ratio: float) -> float:
    return math.log(ratio) if ratio > 0 else -math.inf


def _ratio(log: float) -> float | None:
    return math.exp(log) if math.isfinite(log) else None
