"""Times to an event of which some were never seen: the Kaplan-Meier curve, its median and its restricted mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from semfocus.studies.statistics.student import LEVEL, t_factor

#: with fewer runs than this, all of them later than the true median is not rarer than 1 - LEVEL
_FEWEST_FOR_A_LOWER_LIMIT = 5


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; None: beyond what was observed."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class SurvivalCurve:
    """The share that has not arrived after each time at which one did, with a 95 % band."""

    times: list[float]
    survival: list[float]
    low: list[float]
    high: list[float]
    at_risk: list[int]
    events: list[int]


def kaplan_meier(durations: Sequence[float], reached: Sequence[bool]) -> SurvivalCurve:
    """One step for each time at which the event happened; `reached` is False for a censored duration.

    The band is pointwise, on the scale log(-log S), with Greenwood's variance: it stays inside 0 and 1.

    >>> kaplan_meier([1, 2, 3], [True, False, True]).survival
    [0.6666666666666667, 0.0]
    """
    _check(durations, reached)
    curve = SurvivalCurve([], [], [], [], [], [])
    survival, greenwood = 1.0, 0.0
    for time in sorted({d for d, seen in zip(durations, reached, strict=True) if seen}):
        at_risk = sum(duration >= time for duration in durations)
        events = sum(seen and d == time for d, seen in zip(durations, reached, strict=True))
        survival *= 1 - events / at_risk
        greenwood += events / (at_risk * (at_risk - events)) if events < at_risk else math.inf
        low, high = _band(survival, greenwood)
        curve.times.append(float(time))
        curve.survival.append(survival)
        curve.low.append(low)
        curve.high.append(high)
        curve.at_risk.append(at_risk)
        curve.events.append(events)
    return curve


def _band(survival: float, greenwood: float) -> tuple[float, float]:
    if survival <= 0:  # the variance is not estimable where nobody is left: nothing is claimed
        return 0.0, 1.0
    width = NormalDist().inv_cdf((1 + LEVEL) / 2) * math.sqrt(greenwood) / abs(math.log(survival))
    return survival ** math.exp(width), survival ** math.exp(-width)


def median_time(durations: Sequence[float], reached: Sequence[bool]) -> Estimate:
    """The time by which half have arrived, with the interval of Brookmeyer and Crowley.

    The limits are the times at which the band crosses one half. With fewer than 5 durations no lower limit
    but 0 holds with 95 %, and 0 it is.
    """
    curve = kaplan_meier(durations, reached)
    low = _crossing(curve.times, curve.low)
    if len(durations) < _FEWEST_FOR_A_LOWER_LIMIT:
        low = 0.0 if low is not None else None
    return Estimate(_median(curve), low, _crossing(curve.times, curve.high))


def _median(curve: SurvivalCurve) -> float | None:
    """Where the curve runs along one half, the middle of that stretch, as for an ordinary median."""
    for index, survival in enumerate(curve.survival):
        if math.isclose(survival, 0.5) and index + 1 < len(curve.times):
            return (curve.times[index] + curve.times[index + 1]) / 2
        if survival < 0.5 or math.isclose(survival, 0.5):
            return curve.times[index]
    return None


def _crossing(times: Sequence[float], values: Sequence[float]) -> float | None:
    return next((time for time, value in zip(times, values, strict=True) if value <= 0.5), None)


def restricted_mean(durations: Sequence[float], reached: Sequence[bool], horizon: float) -> Estimate:
    """The mean time spent until the event or the horizon, whichever comes first: the area under the curve.

    None if the curve is not known up to the horizon, because the last run looked at was censored before it.
    """
    if horizon <= 0:
        raise ValueError(f"the horizon must be above 0, got {horizon}")
    curve = kaplan_meier(durations, reached)
    known_to = math.inf if curve.survival and curve.survival[-1] == 0 else max(durations, default=0.0)
    if known_to < horizon:
        return Estimate(None, None, None)
    steps = [index for index, time in enumerate(curve.times) if time < horizon]
    edges = [0.0, *(curve.times[index] for index in steps), horizon]
    heights = [1.0, *(curve.survival[index] for index in steps)]
    areas = [height * (edges[i + 1] - edges[i]) for i, height in enumerate(heights)]
    mean, num = sum(areas), len(durations)
    variance = 0.0
    for place, index in enumerate(steps):
        at_risk, events = curve.at_risk[index], curve.events[index]
        if events < at_risk:
            variance += sum(areas[place + 1 :]) ** 2 * events / (at_risk * (at_risk - events))
    if num < 2:
        return Estimate(mean, 0.0, horizon)
    # num / (num - 1): without early censoring this is the usual standard error of a mean
    width = t_factor(num - 1) * math.sqrt(variance * num / (num - 1))
    return Estimate(mean, max(mean - width, 0.0), min(mean + width, horizon))


def _check(durations: Sequence[float], reached: Sequence[bool]) -> None:
    if len(durations) != len(reached):
        raise ValueError(f"expected one `reached` a duration, got {len(durations)} and {len(reached)}")
    for duration in durations:
        if not duration >= 0 or math.isinf(duration):
            raise ValueError(f"a duration must be a number from 0 on, got {duration}")
