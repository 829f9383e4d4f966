"""Two runs of one seed: steps to the lowest loss that both reached, and which of them ended lower."""

import math
from dataclasses import dataclass

from semfocus.trial.curve import Curve


@dataclass(frozen=True)
class Ended:
    """Where a run was in the end, or when it diverged."""

    #: of losses averaged over looks, as runs are compared
    lowest: float
    #: the last of these
    late: float
    #: of single looks, as a reader sees them in curves and tables
    lowest_look: float
    last_look: float
    diverged: bool = False
    #: whether the loss ended well above its lowest
    rose: bool = False


@dataclass(frozen=True)
class PairedRatio:
    """Steps of the arm over those of full attention, to the lowest loss that both reached; NaN if a run diverged.

    Where the arm did at least as well, that is full attention's lowest loss: `reached`. Where it did not, the ratio says
    nothing about that loss, only about the arm's own; so what was reached in the end stands beside it.
    """

    seed: int
    ratio: float
    seconds_ratio: float
    full: Ended
    arm: Ended

    @property
    def log(self) -> float:
        return math.log(self.ratio)

    @property
    def seconds_log(self) -> float:
        return math.log(self.seconds_ratio)

    @property
    def diverged(self) -> bool:
        return self.full.diverged or self.arm.diverged

    @property
    def reached(self) -> bool:
        return not self.arm.diverged and (self.full.diverged or self.arm.lowest <= self.full.lowest)

    @property
    def higher(self) -> float:
        """How much higher the arm ended, in its lowest or its late loss: whichever differs more. To diverge is infinitely high.

        Exchanging the runs turns the sign and nothing else.
        """
        if self.full.diverged and self.arm.diverged:
            return 0.0
        if self.diverged:
            return math.inf if self.arm.diverged else -math.inf
        return max(self.arm.lowest - self.full.lowest, self.arm.late - self.full.late, key=abs)


def paired_ratio(seed: int, full: Curve, arm: Curve) -> PairedRatio:
    """The comparison of one seed. Exchanging the two runs inverts its ratio, which is what the test of no difference rests on.

    >>> full = Curve([0, 10, 20, 30, 40], [4.0, 3.0, 2.0, 1.0, 1.0])
    >>> arm = Curve([0, 10, 20, 30, 40], [4.0, 2.0, 1.0, 1.0, 1.0])
    >>> round(paired_ratio(0, full, arm).ratio, 3)
    0.75
    """
    ratio = math.nan
    if not full.diverged and not arm.diverged:
        level = max(full.final, arm.final)
        ratio = arm.passes(level) / full.passes(level)
    cost = arm.seconds_per_step / full.seconds_per_step
    return PairedRatio(seed, ratio, ratio * cost, _ended(full), _ended(arm))


def _ended(curve: Curve) -> Ended:
    return Ended(
        curve.best_so_far[-1],
        curve.smooth[-1],
        min(curve.losses),
        curve.losses[-1],
        curve.diverged,
        curve.rose,
    )
