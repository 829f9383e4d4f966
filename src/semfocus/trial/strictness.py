"""How strict a verdict is: its two tests together must hardly ever claim a difference where there is none."""

from semfocus.studies.statistics import smallest_p
from semfocus.studies.statistics.sign_flip_interval import rejecting_patterns

#: of the test of steps
ALPHA = 0.05
#: the largest share of trials without any difference in which a difference is claimed, by both tests and for all arms together
MOST_FALSE = 1 / 16


def seeds_needed(num_arms: int = 1) -> int:
    """The fewest seeds with which any of so many arms could be found different: 6 for one, 7 for two.

    >>> [seeds_needed(num) for num in (1, 2, 3, 4)]
    [6, 7, 8, 8]
    """
    num = 2
    while not can_show(num, num_arms):
        num += 1
    return num


def can_show(num: int, num_arms: int = 1) -> bool:
    """Whether so many seeds can show any difference."""
    return rejecting_patterns(num, steps_alpha(num, num_arms)) >= 1


def steps_alpha(num: int, num_arms: int = 1) -> float:
    """What is left for the test of steps: unanimity in where runs ended may happen by chance too, with `smallest_p`."""
    return max(0.0, min(ALPHA / num_arms, MOST_FALSE / num_arms - smallest_p(num)))
