"""One contrast over several tasks: a stratified sign-flip test, and a random-effects estimate."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from semfocus.analysis.statistics.order import t_factor
from semfocus.analysis.statistics.significance import ALPHA, sign_flip_intervals, sign_flip_p, smallest_p
from semfocus.analysis.statistics.speedup import EQUIVALENT, Pair, Speedup, agreeing, log_of, ratio_of

Interval = tuple[float, float]


@dataclass(frozen=True)
class PooledSpeedup:
    """The geometric mean ratio over tasks, each of which counts the same however many seeds it has.

    `low` and `high` are for these tasks: the inverted sign-flip test, which leaves out 1 exactly if `p` is at
    most `alpha`. `on_average` is for the mean over tasks like these (Hartung and Knapp), `new_task` for the
    ratio on one more task. A pair with a run that never arrived enters `ratio` and `p` by its bound, the
    ratio nearest to 1 that the data allow, and the limits by the farthest: `bound` names the side on which
    the truth may lie then, `num_bounded` how many pairs do so.
    """

    ratio: float
    low: float | None
    high: float | None
    p: float
    tasks: Mapping[str, Speedup]
    bound: Literal["", "at least", "at most", "nearest to 1"]
    num_bounded: int
    on_average: Interval | None
    new_task: Interval | None
    #: the standard deviation of log ratios between tasks, beyond what seeds explain
    between_tasks: float | None
    is_equivalent: bool
    #: the upper limit of the one-sided interval at `alpha`: no larger gain is to be had
    inner_high: float | None = None
    alpha: float = ALPHA
    smallest_p: float = 1.0
    #: as of a speedup on one task: how the interval was made
    method: Literal["sign flip", "none"] = "sign flip"

    @property
    def is_ahead(self) -> bool:
        return self.p <= self.alpha and self.ratio > 1

    @property
    def is_behind(self) -> bool:
        return self.p <= self.alpha and self.ratio < 1

    @property
    def excludes_gain(self) -> bool:
        """Whether a gain of a quarter is excluded."""
        return self.inner_high is not None and self.inner_high < EQUIVALENT

    @property
    def num_open(self) -> int:
        """Runs that have not ended."""
        return sum(speedup.num_open for speedup in self.tasks.values())

    @property
    def num_pairs(self) -> int:
        return sum(speedup.num_pairs for speedup in self.tasks.values())

    @property
    def num_ahead(self) -> int:
        """Pairs in which the arm was the faster one."""
        return sum(log > 0 for speedup in self.tasks.values() for log in speedup.logs)


def pooled_speedup(tasks: Mapping[str, Speedup], among: int = 1) -> PooledSpeedup:
    """Over tasks that have pairs; the caller leaves out those on which neither arm ever arrived.

    The error is the strictest of the tasks'; `among` so many contrasts it is divided by their number.

    >>> one = Speedup(2.0, None, None, [Pair(0, 2.0, 2.0, 2.0, 2.0)])
    >>> other = Speedup(8.0, None, None, [Pair(seed, 8.0, 8.0, 8.0, 8.0) for seed in (0, 1, 2)])
    >>> round(pooled_speedup({"a": one, "b": other}).ratio, 9)
    4.0
    """
    if not tasks or not all(speedup.pairs for speedup in tasks.values()):
        raise ValueError("expected tasks that have pairs of runs")
    alpha = min(speedup.alpha for speedup in tasks.values()) / among
    values = [log for speedup in tasks.values() for log in speedup.logs]
    weights = [1 / speedup.num_pairs for speedup in tasks.values() for _ in speedup.pairs]
    p, levels = sign_flip_p(values, weights), (alpha, 2 * alpha)
    pairs = [pair for speedup in tasks.values() for pair in speedup.pairs]
    lows = sign_flip_intervals([log_of(pair.passed_low) for pair in pairs], levels, weights)
    highs = sign_flip_intervals([log_of(pair.passed_high) for pair in pairs], levels, weights)
    (low, high), inner = [(below[0], above[1]) for below, above in zip(lows, highs, strict=True)]
    bounded = [pair for pair in pairs if pair.ratio_low < pair.ratio_high]
    centre = fmean(values, weights)
    method: Literal["sign flip", "none"] = "none" if low is None or high is None else "sign flip"
    if low is not None and high is not None:
        low, high = agreeing((low, high), p <= alpha, centre, centre)
    # a mean over tasks whose ratios are only bounded has no interval that could be kept
    logs = [speedup.logs for speedup in tasks.values()]
    on_average, new_task, between = (None, None, None) if bounded else _random_effects(logs, alpha)
    return PooledSpeedup(
        ratio=math.exp(centre),
        low=ratio_of(low),
        high=ratio_of(high),
        p=p,
        method=method,
        tasks=dict(tasks),
        bound=_bound(bounded),
        num_bounded=len(bounded),
        on_average=on_average,
        new_task=new_task,
        between_tasks=between,
        is_equivalent=_is_inside(inner, math.log(EQUIVALENT)),
        inner_high=ratio_of(inner[1]),
        alpha=alpha,
        smallest_p=smallest_p(len(values)),
    )


def _is_inside(limits: tuple[float | None, float | None], margin: float) -> bool:
    low, high = limits
    return low is not None and high is not None and -margin < low and high < margin


def _bound(bounded: list[Pair]) -> Literal["", "at least", "at most", "nearest to 1"]:
    """On which side of the estimate the truth may lie, if all pairs that are only bounded agree."""
    if not bounded:
        return ""
    if all(pair.ratio_low >= 1 for pair in bounded):
        return "at least"
    return "at most" if all(pair.ratio_high <= 1 for pair in bounded) else "nearest to 1"


def _random_effects(
    tasks: list[list[float]], alpha: float
) -> tuple[Interval | None, Interval | None, float | None]:
    """Intervals for the mean over tasks (two tasks at least) and for a new task (three), and the spread between tasks.

    All tasks have one variance within, estimated from all of them together: that of a single task with few
    seeds would be far too uncertain to weigh it by. What the tasks scatter beyond that is the variance
    between (method of moments).
    """
    num = len(tasks)
    if num < 2:
        return None, None, None
    means = [fmean(logs) for logs in tasks]
    freedom = sum(len(logs) - 1 for logs in tasks)
    squares = math.fsum((log - mean) ** 2 for logs, mean in zip(tasks, means, strict=True) for log in logs)
    within = squares / freedom if freedom else 0.0
    errors = [within / len(logs) for logs in tasks]
    centre = fmean(means)
    scatter = math.fsum((mean - centre) ** 2 for mean in means) / (num - 1)
    between = max(0.0, scatter - fmean(errors))
    # Hartung and Knapp with equal weights: the scatter of the task means is all that the error of their mean
    # needs. Tasks that happen to agree better than their seeds allow make it no smaller than the seeds do.
    error = math.sqrt(max(scatter, fmean(errors)) / num)
    width = t_factor(num - 1, alpha) * error
    on_average = math.exp(centre - width), math.exp(centre + width)
    if num < 3:
        return on_average, None, math.sqrt(between)
    far = t_factor(num - 2, alpha) * math.sqrt(between + error**2)
    return on_average, (math.exp(centre - far), math.exp(centre + far)), math.sqrt(between)
