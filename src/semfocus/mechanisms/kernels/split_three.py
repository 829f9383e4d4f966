"""Query, key and value as thirds of one projection, without copying their gradients together."""

from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.transforms import is_transformed


def split_three(joint: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The three thirds of the last dimension; the gradients are not copied together if they already lie so."""
    if is_transformed():
        first, second, third = joint.chunk(3, dim=-1)
        return first, second, third
    return _SplitThree.apply(joint)


class _SplitThree(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, joint: Tensor) -> tuple[Tensor, ...]:
        return joint.chunk(3, dim=-1)

    @staticmethod
    def backward(ctx: Any, *parts: Tensor) -> Tensor:
        first, *others = parts
        width, step = first.shape[-1], first.element_size() * first.shape[-1]
        together = all(
            part.stride() == first.stride()
            and part.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()
            and part.data_ptr() == first.data_ptr() + step * (index + 1)
            for index, part in enumerate(others)
        )
        if torch.is_grad_enabled() or not together or first.stride(-1) != 1 or first.stride(-2) != 3 * width:
            return torch.cat(parts, dim=-1)
        return first.as_strided((*first.shape[:-1], 3 * width), first.stride())
