"""Quantities of a query's scores: dispersion δ, separation Δ, and how densely separations lie near zero."""

import math

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.summary import Summary
from semfocus.probes.traces import allowed_keys, checked_scores, highest_among, lowest_among
from semfocus.theory import gap_density


def dispersion(trace: AttentionTrace) -> Tensor:
    """(..., Lq): highest minus lowest kept score; 0 with one kept key, NaN with none."""
    return _range(checked_scores(trace), trace.kept)


def dispersion_of_allowed(trace: AttentionTrace) -> Tensor:
    """(..., Lq): what full attention would see on the same scores: highest minus lowest allowed score."""
    return _range(trace.scores, allowed_keys(trace))


def dispersion_ratio(trace: AttentionTrace) -> Tensor:
    """(..., Lq): c1 = dispersion of the kept over that of all allowed scores; NaN where all of them are equal."""
    return dispersion(trace) / _positive(dispersion_of_allowed(trace))


def _range(scores: Tensor, keys: Tensor) -> Tensor:
    highest = highest_among(scores, keys)
    return (highest - lowest_among(scores, keys)).masked_fill(highest == -torch.inf, torch.nan)


def _positive(divisor: Tensor) -> Tensor:
    return divisor.masked_fill(divisor <= 0, torch.nan)


def separation(trace: AttentionTrace) -> Tensor:
    """(..., Lq): lowest kept minus highest allowed but masked score.

    +inf where nothing allowed is masked, 0 at a tie, negative where a higher score was passed over (as patterns that do
    not look at scores do), NaN where no key is kept.
    """
    scores = checked_scores(trace)
    lowest_kept = lowest_among(scores, trace.kept)
    gap = lowest_kept - highest_among(scores, ~trace.kept)
    return gap.masked_fill(lowest_kept == torch.inf, torch.nan)


def separation_ratio(trace: AttentionTrace) -> Tensor:
    """(..., Lq): c2 = separation over the dispersion of all allowed scores; NaN where all of them are equal."""
    whole = dispersion_of_allowed(trace)
    return separation(trace) / whole.masked_fill(whole <= 0, torch.nan)


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
