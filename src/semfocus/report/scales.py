"""Axes: from a value to a place on the paper, and which values get a tick."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Linear:
    """Values from `low` to `high` on places from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round values inside the range.

        >>> Linear(0, 100, 0, 1).ticks()
        [0, 20, 40, 60, 80, 100]
        """
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        raw = span / most
        size = 10 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= raw * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [_whole(round(index * step, 10)) for index in range(first, last + 1)]


@dataclass(frozen=True)
class Logarithmic:
    """Ratios on a logarithmic axis: twice as fast is as far from 1 as half as fast."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        low, high = math.log(self.low), math.log(self.high)
        share = (math.log(value) - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self, most: int = 8) -> list[float]:
        """1, 2, 5 and their multiples by ten if that is not too many, else fewer.

        >>> Logarithmic(0.4, 12, 0, 1).ticks()
        [0.5, 1, 2, 5, 10]
        """
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for factors in ((1, 2, 5), (1,)):
            found = [_whole(round(factor * 10.0**decade, 10)) for decade in decades for factor in factors]
            inside = [value for value in found if self.low <= value <= self.high]
            if len(inside) <= most:
                return inside
        return [value for value in inside if value == 1 or round(math.log10(value)) % 2 == 0]


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value
