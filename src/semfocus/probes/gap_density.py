"""Gap density ρ0: how many queries stand close to a change of their mask, and what that costs on average."""

import math

from semfocus.probes.summary import Summary
from semfocus.theory import gap_density


def gap_density_of(separations: Summary) -> float:
    """`theory.gap_density` of a summary, which may hold only a sample; t is the 5 % quantile of its finite separations.

    Infinite ones count as queries whose mask cannot change. NaN, for none, where the summary is empty, or where a
    separation is negative: the mask does not follow the scores then, and a gap has no meaning.
    """
    num = separations.num + separations.num_infinite
    if not num or separations.smallest < 0:
        return math.nan
    return separations.num / num * gap_density(separations.values()) if separations.num else 0.0


def average_slope(density: float, k: float) -> float:
    """1 + 4 ρ0 / k: how far the weights of a query move on average, per largest move of a score; k may be a mean."""
    return 1 + 4 * density / k
