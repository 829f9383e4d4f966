"""Factors on the scores of each query at which one pattern is as sharp as another on the same scores."""

import torch
from torch import Tensor

from semfocus.kernels.onlookers import numbers_are_hidden
from semfocus.mechanisms.reference import at_least_float32

#: no factor is larger, nor smaller than one over it. Untrained models of the paper's sizes need 4 to 250;
#: only rows whose largest scores are nearly tied would need more, and they stay as near as this factor brings them.
LARGEST_FACTOR = 1000.0
#: of the effective number of keys, half of what is promised (1e-4); of more than 50 keys a millionth, which
#: float32 can do
_TOLERANCE = 5e-5
#: Newton's method takes three to ten; rows that it does not serve are halved, and 40 halvings are below any rounding
_MOST_STEPS = 40
#: stands for minus infinity: its exponential is 0 at every factor, and 0 times it is 0
_FAR_BELOW = -1e9


@torch.no_grad()
def entropy_factors(scores: Tensor, allowed: Tensor, kept: Tensor) -> Tensor:
    """(..., Lq, 1): f such that softmax(f * scores) over the allowed keys has the entropy of softmax(scores)
    over the kept.

    The entropy over the allowed keys falls with f from log(their number) to log(ties among the largest), so
    there is one such f, or none: then the factor is the largest. A row that keeps every allowed key, or whose
    allowed scores are all equal or not all finite, has the factor 1.
    """
    allowed, kept = allowed.expand(scores.shape), kept.expand(scores.shape)
    below, unmatched = _below_the_largest(at_least_float32(scores), allowed, kept)
    ones = torch.ones_like(below[..., :1])
    own = below.masked_fill(~kept, _FAR_BELOW)  # the heaviest key need not be kept
    target = _entropy_and_slope(ones, own - own.amax(-1, keepdim=True))[0]
    goal = target.exp()
    tolerance = (1e-6 * goal).clamp(min=_TOLERANCE)
    low, high = ones / LARGEST_FACTOR, ones * LARGEST_FACTOR
    out_of_reach = _entropy_and_slope(high, below)[0].exp() - goal > tolerance
    factor, found = torch.where(out_of_reach, high, ones), unmatched | out_of_reach
    guess: Tensor | None = _first_guess(below, allowed, target)
    for _ in range(_MOST_STEPS):
        entropy, slope = _entropy_and_slope(factor, below)
        found = found | ((entropy.exp() - goal).abs() <= tolerance)
        if not numbers_are_hidden(factor) and bool(found.all()):
            break
        too_flat = entropy > target
        low, high = torch.where(too_flat, factor, low), torch.where(too_flat, high, factor)
        # Newton's method in the logarithm of the factor; a step that leaves the limits goes halfway.
        step = (entropy - target) / slope.clamp(min=torch.finfo(slope.dtype).tiny)
        better = factor * step.clamp(-2.0, 2.0).exp() if guess is None else guess
        better = torch.where((better > low) & (better < high), better, (low * high).sqrt())
        factor, guess = torch.where(found, factor, better), None
    return factor.masked_fill(unmatched, 1.0).to(scores.dtype)


@torch.no_grad()
def dispersion_factors(scores: Tensor, allowed: Tensor, kept: Tensor, wanted: Tensor) -> Tensor:
    """(..., Lq, 1): f such that f * (largest - smallest score of the kept keys) is that of the `wanted` keys.

    Where the kept scores are equal (one key alone, say), or those of the wanted keys are, or a score is not
    finite, it is 1.
    """
    own, other = (_spread(scores, (allowed & keys).expand(scores.shape)) for keys in (kept, wanted))
    has_none = ~((own > 0) & (other > 0) & own.isfinite() & other.isfinite())
    factor = (other / own.masked_fill(has_none, 1.0)).clamp(1.0 / LARGEST_FACTOR, LARGEST_FACTOR)
    return factor.masked_fill(has_none, 1.0)


def _below_the_largest(scores: Tensor, allowed: Tensor, kept: Tensor) -> tuple[Tensor, Tensor]:
    """Scores minus the largest allowed one, far below where not allowed, and which rows have nothing to match."""
    visible = scores.masked_fill(~allowed, -torch.inf)
    below = visible - visible.amax(-1, keepdim=True)
    strange = ~(below.isfinite() | ~allowed).all(-1, keepdim=True) | ~kept.any(-1, keepdim=True)
    below = below.masked_fill(~allowed, _FAR_BELOW).masked_fill(strange, 0.0)
    is_constant = below.masked_fill(~allowed, 0.0).amin(-1, keepdim=True) == 0
    return below, strange | is_constant | (kept == allowed).all(-1, keepdim=True)


def _entropy_and_slope(factor: Tensor, below: Tensor) -> tuple[Tensor, Tensor]:
    """Of softmax(factor * below): the entropy, and how fast it falls with the factor's logarithm."""
    scaled = factor * below
    mass = scaled.exp()
    total = mass.sum(-1, keepdim=True)
    weighted = mass.mul_(scaled)
    mean = weighted.sum(-1, keepdim=True) / total
    return total.log() - mean, weighted.mul_(scaled).sum(-1, keepdim=True) / total - mean.square()


def _first_guess(below: Tensor, allowed: Tensor, target: Tensor) -> Tensor:
    """As if the allowed scores were normally distributed: their entropy is log(number) - (factor * deviation)^2 / 2."""
    number = allowed.sum(-1, keepdim=True).clamp(min=1)
    visible = below.masked_fill(~allowed, 0.0)
    mean = visible.sum(-1, keepdim=True) / number
    variance = visible.square().sum(-1, keepdim=True) / number - mean.square()
    missing = (number.log() - target).clamp(min=0.0)
    return (2 * missing / variance.clamp(min=torch.finfo(below.dtype).tiny)).sqrt()


def _spread(scores: Tensor, keys: Tensor) -> Tensor:
    largest = scores.masked_fill(~keys, -torch.inf).amax(-1, keepdim=True)
    return largest - scores.masked_fill(~keys, torch.inf).amin(-1, keepdim=True)
