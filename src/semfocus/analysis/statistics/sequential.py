"""Looks: after how many seeds a study that stops when it is decided may look, and what each look may cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from semfocus.analysis.statistics.significance import ALPHA


@dataclass(frozen=True)
class Interim:
    """A number of seeds, and the error that a test there may spend."""

    seeds: int
    alpha: float


#: together 0.05, so that nothing is gained by stopping early: at 6 seeds all pairs must agree (2 / 2^6 =
#: 1/32), at 10 the rest is spent
LOOKS: tuple[Interim, ...] = (Interim(6, 1 / 32), Interim(10, 3 / 160))


def spent_at(looks: Sequence[Interim], num_seeds: int) -> float:
    """The error that belongs to so many seeds: that of the first look that asks for as many, or of the last.

    An interval made with it holds whatever look the study stopped at, since the errors of all looks add up to
    0.05. Between two looks the first has been spent.

    >>> [spent_at(LOOKS, num) for num in (6, 8, 10, 12)]
    [0.03125, 0.01875, 0.01875, 0.01875]
    """
    return next((look.alpha for look in looks if num_seeds <= look.seeds), looks[-1].alpha)


class IntervalLevel(NamedTuple):
    """The error of the intervals of a comparison, and how many runs it waits for that have not begun."""

    alpha: float = ALPHA
    num_missing: int = 0
