"""Looks: after how many seeds a study that stops when it is decided may look, and what each look may cost."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interim:
    """A number of seeds, and the error that a test there may spend."""

    seeds: int
    alpha: float


#: together 0.05, so that nothing is gained by stopping early: at 6 seeds all pairs must agree (2 / 2^6 = 1/32), at 10 the rest is spent
LOOKS: tuple[Interim, ...] = (Interim(6, 1 / 32), Interim(10, 3 / 160))


def spent_at(looks: Sequence[Interim], num_seeds: int) -> float:
    """The error that belongs to a study with so many seeds: that of the last look it has reached.

    An interval made with it holds whatever look the study stopped at, since the errors of all looks add up to 0.05.

    >>> spent_at(LOOKS, 6), spent_at(LOOKS, 10)
    (0.03125, 0.01875)
    """
    reached = [look for look in looks if look.seeds <= num_seeds]
    return (reached or list(looks))[-1 if reached else 0].alpha
