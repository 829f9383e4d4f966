"""One colour scale for the losses of several surfaces: dark is low, light is high, in print too."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from semfocus.report.scales import Linear, Logarithmic

#: from low to high; lightness rises evenly, so that the order survives colour blindness and grey paper
_ANCHORS = ((18, 26, 74), (31, 72, 140), (36, 126, 163), (79, 176, 152), (172, 214, 132), (252, 244, 178))
#: losses that differ by more than this factor are shown on a logarithmic scale
_LOGARITHMIC_FROM = 12.0


@dataclass(frozen=True)
class ColourRamp:
    """Losses from `low` to `high`, both positive if logarithmic."""

    low: float
    high: float
    logarithmic: bool

    def share(self, value: float) -> float:
        """Where a value lies on the scale, from 0 to 1."""
        if self.high <= self.low:
            return 0.5
        if self.logarithmic:
            value, low, high = (math.log(max(each, self.low)) for each in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return min(1.0, max(0.0, (value - low) / (high - low)))

    def ticks(self, most: int = 10) -> list[float]:
        """Round values on the scale, for the legend and the contour lines."""
        if self.high <= self.low:
            return [self.low]
        if not self.logarithmic:
            return Linear(self.low, self.high, 0, 1).ticks(most)
        return Logarithmic(self.low, self.high, 0, 1).ticks(most)


def colour(share: float) -> str:
    """The colour at a place of the scale.

    >>> colour(0.0), colour(1.0)
    ('#121a4a', '#fcf4b2')
    """
    place = min(1.0, max(0.0, share)) * (len(_ANCHORS) - 1)
    first = min(int(place), len(_ANCHORS) - 2)
    mixed = (
        round(a + (place - first) * (b - a))
        for a, b in zip(_ANCHORS[first], _ANCHORS[first + 1], strict=True)
    )
    return "#" + "".join(f"{each:02x}" for each in mixed)


def ramp_of(values: Iterable[float]) -> ColourRamp:
    """The scale of all finite values together."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ColourRamp(0.0, 0.0, False)
    low, high = min(finite), max(finite)
    return ColourRamp(low, high, low > 0 and high / low > _LOGARITHMIC_FROM)
