"""Masks that are added to scores, as what may be attended to and a bias."""

import torch
from torch import Tensor

#: a key so far below the highest of its row gets no weight from any softmax: it is meant to be forbidden
FAR_BELOW = 1000.0


def allowed_and_bias(mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """Which keys a float mask (..., Lq, Lk) allows, and what it adds to the others; None if it adds nothing.

    Forbidden are minus infinity, the smallest number of the type, and whatever is `FAR_BELOW` the highest of its row
    (-10000 or -1e9, as many write it), so that a pattern of positions does not keep it.

    >>> allowed_and_bias(torch.tensor([[0.0, -1e9, 0.0], [0.5, 0.0, -torch.inf]]))
    (tensor([[ True, False,  True],
            [ True,  True, False]]), tensor([[0.0000, 0.0000, 0.0000],
            [0.5000, 0.0000, 0.0000]]))
    """
    limits = torch.finfo(mask.dtype)
    highest = mask.detach().amax(-1, keepdim=True).clamp(max=limits.max)
    # What is not a number, or infinite, is no prohibition: it must reach the output as it does in softmax.
    allowed = ~((mask <= highest - FAR_BELOW) | (mask <= limits.min))
    bias = mask.masked_fill(~allowed, 0.0)
    # A graph may not branch on numbers, so there the mask stays a bias; and a learned one wants its gradient.
    if torch.compiler.is_compiling() or mask.requires_grad or bias.any():
        return allowed, bias
    return allowed, None
