"""Quantities of a query's weights: entropy, effective keys, and norms of the softmax Jacobian diag(p) - pp'
in closed form.
"""

import torch
from torch import Tensor

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.traces import weights_of


def entropy(trace: AttentionTrace) -> Tensor:
    """(..., Lq): -Σ p log p in nats; NaN where no key is kept."""
    return torch.special.entr(weights_of(trace)).sum(-1)


def effective_keys(trace: AttentionTrace) -> Tensor:
    """(..., Lq): e to the entropy, from 1 (one key has it all) to the number of kept keys (all equal)."""
    return entropy(trace).exp()


def participation(trace: AttentionTrace) -> Tensor:
    """(..., Lq): the inverse participation ratio 1 / Σ p², another count of keys, which large weights rule."""
    return 1.0 / weights_of(trace).square().sum(-1)


#: halvings of the interval that holds an eigenvalue: its width falls below the spacing of float64 near 1
_HALVINGS = 60


def norm_11(trace: AttentionTrace) -> Tensor:
    """(..., Lq): ‖J‖ from l1 to l1, which is max 2p(1-p)."""
    weights = weights_of(trace)
    return (2 * weights * (1 - weights)).amax(-1)


def norm_22(trace: AttentionTrace) -> Tensor:
    """(..., Lq): the largest eigenvalue λ: the root of Σ p²/(p-λ) = 1 between the two largest weights."""
    weights = _at_least_two(weights_of(trace))
    largest = weights.topk(2, dim=-1).values
    low, high = largest[..., 1:], largest[..., :1]
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        # Between the two largest weights the sum grows from -inf to +inf. At a tie low = high is the answer already.
        is_above = (weights.square() / (weights - middle)).sum(-1, keepdim=True) >= 1
        low, high = torch.where(is_above, low, middle), torch.where(is_above, middle, high)
    return ((low + high) / 2).squeeze(-1)


def norm_22_upper(trace: AttentionTrace) -> Tensor:
    """(..., Lq): an upper bound on the largest eigenvalue: max over the sorted weights of p(1 - p + the next one)."""
    ranked = weights_of(trace).sort(-1, descending=True).values
    following = torch.nn.functional.pad(ranked[..., 1:], (0, 1))
    return (ranked * (1 - ranked + following)).amax(-1)


def norm_inf1(trace: AttentionTrace) -> tuple[Tensor, Tensor]:
    """Two of (..., Lq): a lower and an upper bound on ‖J‖ from l∞ to l1, equal where one weight is at least 1/2."""
    highest = weights_of(trace).amax(-1)
    exact = 4 * highest * (1 - highest)
    is_exact = highest >= 0.5
    unknown = torch.where(highest.isnan(), torch.nan, 1.0)
    return torch.where(is_exact, exact, 1 - highest.square()), torch.where(is_exact, exact, unknown)


def norm_frobenius(trace: AttentionTrace) -> Tensor:
    """(..., Lq): the Frobenius norm, summed without a difference of large terms."""
    weights = weights_of(trace)
    ranked = weights.sort(-1, descending=True).values.square()
    smaller = torch.nn.functional.pad(ranked.flip(-1).cumsum(-1).flip(-1)[..., 1:], (0, 1))
    off_diagonal = 2 * (ranked * smaller).sum(-1)
    return ((weights * (1 - weights)).square().sum(-1) + off_diagonal).sqrt()


def _at_least_two(weights: Tensor) -> Tensor:
    """A sequence of one key has a second weight of 0."""
    return torch.nn.functional.pad(weights, (0, 1)) if weights.shape[-1] == 1 else weights
