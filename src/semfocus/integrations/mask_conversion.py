"""Masks as other libraries write them, as what may be attended to and a bias."""

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.kernels.onlookers import numbers_are_hidden

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
    if numbers_are_hidden(mask) or mask.requires_grad or bias.any():
        return allowed, bias
    return allowed, None


class TorchMasks:
    """Which keys may be attended to, and what is added to the scores; both broadcast to (batch, heads, Lq, Lk).

    In torch's masks True means drop, and a float mask is added. A float mask that only forbids says no more than a
    boolean one; any other is a bias.
    """

    def __init__(self, shape: tuple[int, int, int, int]) -> None:
        self.shape = shape
        self.allowed: Tensor | None = None
        self.bias: Tensor | None = None

    def add_key_padding_mask(self, mask: Tensor | None, batched: bool) -> None:
        """(batch, Lk), or (Lk) without a batch."""
        if mask is None:
            return
        batch, _, _, num_keys = self.shape
        _check(mask, "key_padding_mask", [(batch, num_keys) if batched else (num_keys,)])
        self._add(mask.reshape(batch, 1, 1, num_keys))

    def add_attn_mask(self, mask: Tensor | None) -> None:
        """(Lq, Lk), or (batch * heads, Lq, Lk)."""
        if mask is None:
            return
        batch, heads, num_queries, num_keys = self.shape
        _check(mask, "attn_mask", [(num_queries, num_keys), (batch * heads, num_queries, num_keys)])
        self._add(mask if mask.dim() == 2 else mask.reshape(self.shape))

    def append_keys(self, number: int) -> None:
        """Keys after the last that every query may attend to."""
        if self.allowed is not None:
            self.allowed = F.pad(self.allowed, (0, number), value=True)
        if self.bias is not None:
            self.bias = F.pad(self.bias, (0, number), value=0.0)

    def _add(self, mask: Tensor) -> None:
        if mask.dtype == torch.bool:
            allowed, bias = ~mask, None
        else:
            allowed, bias = allowed_and_bias(mask)
        self.allowed = allowed if self.allowed is None else self.allowed & allowed
        if bias is not None:
            self.bias = bias if self.bias is None else self.bias + bias


def _check(mask: Tensor, name: str, shapes: list[tuple[int, ...]]) -> None:
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ValueError(
            f"{name} must be boolean (True = drop) or floating-point (added to the scores), got {mask.dtype}"
        )
    if tuple(mask.shape) not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"{name} must have the shape {expected}, got {tuple(mask.shape)}")
