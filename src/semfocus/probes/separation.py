"""Separation Δ: the gap between the kept and the masked scores of a query."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.dispersion import dispersion_of_allowed
from semfocus.probes.trace_parts import checked_scores, highest_among, lowest_among


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
