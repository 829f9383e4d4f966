"""Gap density ρ0: how many queries stand close to a change of their mask, and what that costs on average."""

import math

import numpy as np
from numpy.typing import ArrayLike

from semfocus.probes.summary import Floats, Summary


def gap_density(separations: ArrayLike, t: float | None = None) -> float:
    """P(Δ <= t) / t over queries; by default t is the 5 % quantile of the finite separations.

    Infinite separations count as queries whose mask cannot change: 0 if there are no others. inf if t is 0 (ties). NaN, for
    none, if a separation is negative: the mask does not follow the scores then, and a gap has no meaning.
    """
    values = np.asarray(separations, dtype=np.float64).ravel()
    if np.isnan(values).any():
        raise ValueError("gap density: separations must not be NaN; leave queries out that keep no key")
    if not len(values):
        raise ValueError("gap density: there are no separations")
    finite = values[np.isfinite(values)]
    return _density(finite, len(finite) / len(values), t)


def gap_density_of(separations: Summary) -> float:
    """The same of a summary, which may hold only a sample; NaN, for none, where it is empty."""
    num = separations.num + separations.num_infinite
    if not num or separations.smallest < 0:
        return math.nan
    return _density(separations.values(), separations.num / num, None)


def average_slope(density: float, k: float) -> float:
    """1 + 4 ρ0 / k: how far the weights of a query move on average, per largest move of a score."""
    return 1 + 4 * density / k


def _density(finite: Floats, share_finite: float, t: float | None) -> float:
    if not len(finite):
        return 0.0
    if finite.min() < 0:
        return math.nan
    if t is None:
        t = float(np.quantile(finite, 0.05))
    return share_finite * float((finite <= t).mean()) / t if t > 0 else math.inf
