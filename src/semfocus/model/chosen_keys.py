"""Keys that a query attends to because something else than its own scores chose them."""

import math

import torch
from torch import Tensor

from semfocus.mechanisms import Pattern
from semfocus.randomness import Seed, all_places, draws


class Chosen(Pattern):
    """Keeps the keys that are given, bool and broadcastable to (..., Lq, Lk); a value of one call, without a text form."""

    name = "chosen"
    family = "control"

    def __init__(self, kept: Tensor) -> None:
        self.kept = kept

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.kept & allowed


def noisy_choice(pattern: Pattern, scores: Tensor, allowed: Tensor, deviations: float, seed: Seed) -> Tensor:
    """What the pattern keeps of scores to which normal noise is added, its deviation a multiple of that of the row."""
    allowed = allowed.expand(scores.shape)
    number = allowed.sum(-1, keepdim=True).clamp(min=1)
    visible = scores.masked_fill(~allowed, 0.0)
    mean = visible.sum(-1, keepdim=True) / number
    spread = (visible - mean).masked_fill(~allowed, 0.0).square().sum(-1, keepdim=True).div(number).sqrt()
    noise = normal_noise(scores.shape, seed, scores.device).to(scores.dtype)
    return pattern.keep((scores + deviations * spread * noise).masked_fill(~allowed, -torch.inf), allowed)


def normal_noise(shape: torch.Size, seed: Seed, device: torch.device) -> Tensor:
    """Standard normal numbers, each a function of the seed and its place alone."""
    uniform = (draws(seed, *all_places(shape, device)).double() + 0.5) / 2**32
    return torch.erfinv(2 * uniform - 1) * math.sqrt(2)
