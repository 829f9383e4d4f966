"""Two runs of one seed: how many steps one needs for the loss that the other reached, or both did."""

import math
from dataclasses import dataclass

from semfocus.trial.curve import Curve


@dataclass(frozen=True)
class PairedRatio:
    """Steps of the arm over those of full attention, to the lowest loss that both reached.

    Where the arm did at least as well, that is full attention's final loss: `reached`. Where it did not, the steps to that
    loss are not known, only that they are more than were trained; the ratio is that at the arm's own final loss instead.
    `bound`: a run diverged, and the ratio is only the one nearest to 1 that this leaves possible.
    """

    seed: int
    ratio: float
    seconds_ratio: float
    reached: bool
    bound: bool = False

    @property
    def log(self) -> float:
        return math.log(self.ratio)

    @property
    def seconds_log(self) -> float:
        return math.log(self.seconds_ratio)


def paired_ratio(seed: int, full: Curve, arm: Curve) -> PairedRatio:
    """The ratio of one seed. Exchanging the two runs gives its inverse, which is what the test of no difference rests on.

    >>> full = Curve([0, 10, 20, 30, 40], [4.0, 3.0, 2.0, 1.0, 1.0])
    >>> arm = Curve([0, 10, 20, 30, 40], [4.0, 2.0, 1.0, 1.0, 1.0])
    >>> round(paired_ratio(0, full, arm).ratio, 3)
    0.75
    """
    cost = arm.seconds_per_step / full.seconds_per_step
    if full.diverged and arm.diverged:
        return PairedRatio(seed, 1.0, cost, reached=False, bound=True)
    if full.diverged or arm.diverged:
        lasted = arm if full.diverged else full
        beyond = max(1.0, lasted.steps[-1] / lasted.passes(lasted.final))
        ratio = 1 / beyond if full.diverged else beyond
        return PairedRatio(seed, ratio, ratio * cost, reached=full.diverged, bound=True)
    level = max(full.final, arm.final)
    ratio = arm.passes(level) / full.passes(level)
    return PairedRatio(seed, ratio, ratio * cost, reached=arm.final <= full.final)
