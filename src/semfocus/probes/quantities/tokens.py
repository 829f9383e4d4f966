"""Quantities of the tokens that come into attention: their norm, and how much the attended ones differ."""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.sequences import QueryPlaces
from semfocus.probes.traces import checked_scores, weights_of


def token_norm(trace: AttentionTrace) -> Tensor:
    """(batch, L): l2 norm of every attention input, in float64; Ξ is its largest value."""
    checked_scores(trace)
    return trace.inputs.double().norm(dim=-1)


#: queries whose d x d matrices are held at once
QUERIES_AT_ONCE = 256


def attended_covariance(trace: AttentionTrace, queries: QueryPlaces) -> Tensor:
    """(num, heads, d, d): Σ_j p_j (x_j - x̄)(x_j - x̄)' for each of these queries, NaN where no key is kept.

    The trace is (batch, heads, L, L) with inputs (batch, L, d).
    """
    tokens = trace.inputs[queries.sequences].double().unsqueeze(1)
    weights = weights_of(trace)[queries.sequences, :, queries.positions]
    # Weights stored in float32 sum to 1 within rounding; a mean needs a sum of 1.
    weights = weights / weights.sum(-1, keepdim=True)
    mean = weights.unsqueeze(-2) @ tokens
    around = (tokens - mean) * weights.sqrt().unsqueeze(-1)
    return around.transpose(-2, -1) @ around


def covariance_norm(trace: AttentionTrace, queries: QueryPlaces) -> Tensor:
    """(num, heads): the spectral norm of the attended covariance."""
    parts = [_largest_eigenvalue(attended_covariance(trace, each)) for each in queries.split(QUERIES_AT_ONCE)]
    return torch.cat(parts)


def spectral_norm_by_gram(matrices: Tensor) -> Tensor:
    """The largest singular value of each of (..., m, n), faster than by a decomposition into singular values."""
    return _largest_eigenvalue(matrices.transpose(-2, -1) @ matrices).sqrt()


def _largest_eigenvalue(matrices: Tensor) -> Tensor:
    """Of symmetric positive matrices; NaN of those that are NaN, which the decomposition would refuse."""
    missing = matrices.isnan().any(-1).any(-1)
    safe = matrices.masked_fill(missing[..., None, None], 0.0)
    return torch.linalg.eigvalsh(safe)[..., -1].clamp(min=0.0).masked_fill(missing, torch.nan)
