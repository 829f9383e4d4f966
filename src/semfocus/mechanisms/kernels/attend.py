"""The kernels as a differentiable function, by the quickest way to call them."""

from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.kernels.computation import Options, attention_backward, attention_forward
from semfocus.mechanisms.kernels.memory import in_large_pages
from semfocus.mechanisms.kernels.operation import attend_backward_operation, attend_operation
from semfocus.mechanisms.transforms import is_dispatched


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, options: Options) -> Tensor:
    """Output of attention, by the quickest way to call the kernels.

    A registered operation can be traced and dispatched, but costs as much as the kernels at length 40.
    """
    if torch.compiler.is_compiling() or is_dispatched(query, key, value):
        return attend_operation(query, key, value, mask, *options.values())[0]
    if torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad):
        return _Attend.apply(query, key, value, mask, options)
    return attention_forward(query, key, value, mask, options)[0]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, options: Options
    ) -> Tensor:
        output, indices, weights = attention_forward(query, key, value, mask, options)
        ctx.save_for_backward(query, key, value, mask, output, indices, weights)
        ctx.options = options
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        query, key, value, mask, output, indices, weights = ctx.saved_tensors
        results = (output, indices, weights)
        if torch.is_grad_enabled():  # the way to a second derivative, which is refused with a reason
            gradients = attend_backward_operation(
                grad_output, query, key, value, mask, *results, *ctx.options.values()
            )
        else:
            gradients = _gradients(query, key, value)
            attention_backward(grad_output, query, key, value, mask, *results, ctx.options, gradients)
        return *gradients, None, None


def _gradients(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Memory for the three gradients, as three parts of one array where the inputs are: see `split_three`."""
    if query.shape == key.shape == value.shape:
        outer, inner, length, width = query.shape
        joint = in_large_pages(query.new_empty(outer, length, 3, inner, width))
        joint = joint.transpose(1, 3)  # (outer, inner, 3, length, width)
        return joint[:, :, 0], joint[:, :, 1], joint[:, :, 2]
    return tuple(  # type: ignore[return-value]
        in_large_pages(
            tensor.new_empty(tensor.shape[0], tensor.shape[2], tensor.shape[1], tensor.shape[3])
        ).transpose(1, 2)
        for tensor in (query, key, value)
    )
