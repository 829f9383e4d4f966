"""The curve of one run, and two runs of one seed: steps to the lowest loss that both reached."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate


@dataclass(frozen=True)
class Curve:
    """Losses at increasing steps, the first of the untrained model; `diverged`: the run did not last to the end."""

    steps: Sequence[int]
    losses: Sequence[float]
    diverged: bool = False
    #: median time of a training step
    seconds_per_step: float = field(default=math.nan)

    def __post_init__(self) -> None:
        if len(self.steps) != len(self.losses) or len(self.steps) < 2:
            raise ValueError(
                f"a curve needs a loss at each of at least 2 steps, got {len(self.steps)} steps "
                f"and {len(self.losses)} losses"
            )
        if any(after <= before for before, after in zip(self.steps, self.steps[1:], strict=False)):
            raise ValueError(f"steps must increase, got {list(self.steps)}")
        if not all(math.isfinite(loss) for loss in self.losses):
            raise ValueError("losses must be finite; a run that diverged ends before")

    @cached_property
    def smooth(self) -> list[float]:
        """Losses averaged over three looks (two at the ends), so that one lucky look counts little."""
        first, second, *_ = *_, before_last, last = self.losses
        between = zip(self.losses, self.losses[1:], self.losses[2:], strict=False)
        return [(first + second) / 2, *((a + b + c) / 3 for a, b, c in between), (before_last + last) / 2]

    @cached_property
    def best_so_far(self) -> list[float]:
        """The lowest of these losses up to each step."""
        return list(accumulate(self.smooth, min))

    @property
    def final(self) -> float:
        """The lowest loss up to the end; nothing if the run diverged."""
        return math.inf if self.diverged else self.best_so_far[-1]

    @property
    def rose(self) -> bool:
        """Whether the loss ended well above its lowest: by more than a fiftieth of what it had fallen."""
        lowest = self.best_so_far[-1]
        return self.smooth[-1] - lowest > (self.best_so_far[0] - lowest) / 50

    @property
    def is_falling(self) -> bool:
        """Whether the loss still fell at the end: in the last fifth by more than a tenth of the whole fall."""
        late = self.smooth[-1 - max(1, len(self.smooth) // 5)] - self.smooth[-1]
        return late > (self.smooth[0] - self.smooth[-1]) / 10 > 0

    @property
    def learned(self) -> bool:
        """Whether the loss ever fell."""
        return self.best_so_far[-1] < self.best_so_far[0]

    def passes(self, level: float) -> float:
        """The step at which the loss reached a level, between two looks by a straight line; inf if it never did.

        Half a look is the earliest that can be told: an untrained model may be there already.

        >>> Curve([0, 10, 20, 30], [4.0, 4.0, 4.0, 1.0]).passes(3.0)
        20.0
        """
        earliest = self.steps[1] / 2
        best = self.best_so_far
        for place, loss in enumerate(best):
            if loss <= level:
                if place == 0:
                    return earliest
                before, width = best[place - 1], self.steps[place] - self.steps[place - 1]
                return max(earliest, self.steps[place - 1] + width * (before - level) / (before - loss))
        return math.inf


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

    Where the arm did at least as well, that is full attention's lowest loss: `reached`. Where it did not, the
    ratio says nothing about that loss, only about the arm's own; so what was reached in the end stands beside it.
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
        """How much higher the arm ended, in its lowest or its late loss: whichever differs more. To diverge
        is infinitely high.

        Exchanging the runs turns the sign and nothing else.
        """
        if self.full.diverged and self.arm.diverged:
            return 0.0
        if self.diverged:
            return math.inf if self.arm.diverged else -math.inf
        return max(self.arm.lowest - self.full.lowest, self.arm.late - self.full.late, key=abs)


def paired_ratio(seed: int, full: Curve, arm: Curve) -> PairedRatio:
    """The comparison of one seed. Exchanging the two runs inverts its ratio, which is what the test of no
    difference rests on.

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
