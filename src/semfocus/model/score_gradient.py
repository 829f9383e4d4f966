"""A tensor as it is, whose gradient is multiplied by a factor: what is computed and what is learned from it, set apart."""

from typing import Any

import torch
from torch import Tensor


def with_gradient_times(tensor: Tensor, factor: float) -> Tensor:
    """The same numbers, bit for bit; whatever gradient comes back is multiplied by the factor."""
    return tensor if factor == 1.0 else _Scaled.apply(tensor, factor)


class _Scaled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: Tensor, factor: float) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.factor, None
