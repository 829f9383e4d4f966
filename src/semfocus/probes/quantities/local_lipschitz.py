"""The exact local Lipschitz constant of attention in W, with the mask held fixed.

The output of query i moves by V Cov_p(x) dW x_i, so the constant is ‖V Cov_p‖ ‖x_i‖. W is the score matrix without bias
columns; moving the biases too would replace ‖x_i‖ by that of (x_i, 1).

Scores that were clipped to z = c tanh(s / c) move by their slope 1 - (z / c)² times as much: then the output moves by
V Σ_j p_j (1 - (z_j / c)²) (x_j - x̄) x_j' dW x_i.
"""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.quantities.tokens import QUERIES_AT_ONCE, attended_covariance, spectral_norm_by_gram
from semfocus.probes.quantities.weight_norms import spectral_norm
from semfocus.probes.sequences import QueryPlaces
from semfocus.probes.traces import weights_of


def lambda_w_local(
    trace: AttentionTrace, value: Tensor, queries: QueryPlaces, score_clip: float | None = None
) -> Tensor:
    """(num, heads): ‖V Cov_p‖₂ ‖x_q‖₂ of each of these queries; `value` is (heads, d, d), `value_matrices`.

    `score_clip` is c if the scores of the trace were clipped. NaN where no key is kept.
    """
    parts = [
        spectral_norm_by_gram(value.double() @ _moved(trace, each, score_clip))
        for each in queries.split(QUERIES_AT_ONCE)
    ]
    return torch.cat(parts) * _query_norm(trace, queries)


def _moved(trace: AttentionTrace, queries: QueryPlaces, score_clip: float | None) -> Tensor:
    """(num, heads, d, d): what the mean of the attended tokens moves by, per dW x_q."""
    if score_clip is None:
        return attended_covariance(trace, queries)
    places = queries.sequences, slice(None), queries.positions
    tokens = trace.inputs[queries.sequences].double().unsqueeze(1)
    weights = weights_of(trace)[places]
    weights = weights / weights.sum(-1, keepdim=True)
    slope = (1 - (trace.scores[places].double() / score_clip).square()).masked_fill(~trace.kept[places], 0.0)
    around = (tokens - weights.unsqueeze(-2) @ tokens) * (weights * slope).unsqueeze(-1)
    return around.transpose(-2, -1) @ tokens


def lambda_w_worst(trace: AttentionTrace, value: Tensor, queries: QueryPlaces, counted: Tensor) -> Tensor:
    """(num, heads): the worst case ΥΞ³ of that constant, which is never above it.

    Υ is the spectral norm of V without bias, Ξ the largest input norm of the query's own sequence, over the positions
    that count (batch, L).
    """
    norms = trace.inputs.double().norm(dim=-1).masked_fill(~counted, 0.0)
    largest = norms.amax(-1)[queries.sequences].unsqueeze(-1)
    return spectral_norm(value.double()) * largest**3


def lambda_w_diameter(trace: AttentionTrace, value: Tensor, queries: QueryPlaces, diameter: Tensor) -> Tensor:
    """(num, heads): the upper bound Υ ‖x_q‖ diam² / 4, which can only fall when fewer keys are kept.

    It holds for scores that were not clipped.
    """
    return spectral_norm(value.double()) * _query_norm(trace, queries) * diameter.square() / 4


def attended_diameter(trace: AttentionTrace, queries: QueryPlaces) -> Tensor:
    """(num, heads): the largest distance between two tokens that a query keeps; NaN where none is kept."""
    num_keys = trace.kept.shape[-1]
    at_once = max(1, 2**22 // num_keys**2)
    return torch.cat([_diameter(trace, each) for each in queries.split(at_once)])


def _diameter(trace: AttentionTrace, queries: QueryPlaces) -> Tensor:
    sequences, inverse = queries.sequences.unique(return_inverse=True)
    tokens = trace.inputs[sequences].double()
    # By differences: products of tokens would lose small distances.
    distances = torch.cdist(tokens, tokens, compute_mode="donot_use_mm_for_euclid_dist")
    kept = trace.kept[queries.sequences, :, queries.positions]
    farthest = distances[inverse].unsqueeze(1).masked_fill(~kept.unsqueeze(-1), 0.0).amax(-2)
    return farthest.masked_fill(~kept, 0.0).amax(-1).masked_fill(~kept.any(-1), torch.nan)


def _query_norm(trace: AttentionTrace, queries: QueryPlaces) -> Tensor:
    return trace.inputs[queries.sequences, queries.positions].double().norm(dim=-1, keepdim=True)
