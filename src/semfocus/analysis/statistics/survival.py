"""Times to an event of which some were never seen: the Kaplan-Meier curve, its median and its restricted mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

from semfocus.analysis.statistics.order import LEVEL, median_place

_NORMAL = NormalDist().inv_cdf((1 + LEVEL) / 2)


@dataclass(frozen=True)
class Estimate:
    """A value with its 95 % interval; None: beyond what was observed.

    `beyond`: where the value is None, it is known to be above this.
    """

    value: float | None
    low: float | None
    high: float | None
    beyond: float | None = None


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
    width = _NORMAL * math.sqrt(greenwood) / abs(math.log(survival))
    return survival ** math.exp(width), survival ** math.exp(-width)


def median_time(durations: Sequence[float], reached: Sequence[bool]) -> Estimate:
    """The time by which half have arrived, on the Kaplan-Meier curve, with an interval that needs no assumption.

    Its limits are order statistics, the lower one as if every censored run arrived right after its last look, the
    upper one as if it never did. Fewer than 6 durations give none at 95 %: from 0 to beyond. If half have arrived and
    no other is ever seen to, the value is None: half-way between the last that did and one that is not known. Then
    `beyond` is the ordinary median with every censored run at its last look: less it cannot be.

    >>> median_time([317, 400], [True, False])
    Estimate(value=None, low=0.0, high=None, beyond=358.5)
    """
    value = _median(kaplan_meier(durations, reached))
    beyond = median(durations) if value is None and durations else None
    place = median_place(len(durations))
    if place is None:
        return Estimate(value, 0.0 if durations else None, None, beyond)
    latest = sorted(d if seen else math.inf for d, seen in zip(durations, reached, strict=True))
    low, high = sorted(durations)[place], latest[-1 - place]
    return Estimate(value, low, high if math.isfinite(high) else None, beyond)


def _median(curve: SurvivalCurve) -> float | None:
    """Where the curve runs along one half, the middle of that stretch, as for an ordinary median.

    If it does so to the end of what was looked at, the stretch has no known middle. To answer with its beginning
    would make the median fall when a late arrival is not seen any more.
    """
    for index, survival in enumerate(curve.survival):
        if math.isclose(survival, 0.5):
            following = curve.times[index + 1 :]
            return (curve.times[index] + following[0]) / 2 if following else None
        if survival < 0.5:
            return curve.times[index]
    return None


def restricted_mean(durations: Sequence[float], reached: Sequence[bool], horizon: float) -> Estimate:
    """The mean time until the event or the horizon, whichever comes first: the area under the curve.

    None if the curve is not known up to the horizon, because the last run looked at was censored before it.
    Each limit counts one imagined run more, as far out as can be: a few runs that happen to agree prove little.
    """
    if horizon <= 0 or math.isinf(horizon):
        raise ValueError(f"the horizon must be a number above 0, got {horizon}")
    curve = kaplan_meier(durations, reached)
    ends_at_zero = bool(curve.survival) and curve.survival[-1] == 0
    if not ends_at_zero and max(durations, default=0.0) < horizon:
        return Estimate(None, None, None)
    early, low_error = _area([0.0, *durations], [True, *reached], horizon)
    late, high_error = _area([horizon, *durations], [False, *reached], horizon)
    return Estimate(
        _area(durations, reached, horizon)[0],
        max(early - _NORMAL * low_error, 0.0),
        min(late + _NORMAL * high_error, horizon),
    )


def _area(durations: Sequence[float], reached: Sequence[bool], horizon: float) -> tuple[float, float]:
    """The area under the curve up to the horizon, and its standard error."""
    curve, num = kaplan_meier(durations, reached), len(durations)
    steps = [index for index, time in enumerate(curve.times) if time < horizon]
    edges = [0.0, *(curve.times[index] for index in steps), horizon]
    heights = [1.0, *(curve.survival[index] for index in steps)]
    areas = [height * (edges[i + 1] - edges[i]) for i, height in enumerate(heights)]
    variance = 0.0
    for place, index in enumerate(steps):
        at_risk, events = curve.at_risk[index], curve.events[index]
        if events < at_risk:
            variance += sum(areas[place + 1 :]) ** 2 * events / (at_risk * (at_risk - events))
    # num / (num - 1): without early censoring this is the usual standard error of a mean
    return sum(areas), math.sqrt(variance * num / max(num - 1, 1))


def _check(durations: Sequence[float], reached: Sequence[bool]) -> None:
    if len(durations) != len(reached):
        raise ValueError(f"expected one `reached` a duration, got {len(durations)} and {len(reached)}")
    for duration in durations:
        if not duration >= 0 or math.isinf(duration):
            raise ValueError(f"a duration must be a number from 0 on, got {duration}")
