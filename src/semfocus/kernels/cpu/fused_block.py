"""A whole block as one differentiable operation on the compiled kernels.

The same mathematics as `Block`, with the same random numbers. Sequence by sequence, what one product writes the
next one reads from cache; and none of the bookkeeping of a dozen small operations, which at length 40 costs as
much as the arithmetic. `Block` is its definition.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from semfocus.kernels.cpu.attention import Options, problem_of
from semfocus.kernels.cpu.layout import FusedBlock, LinearMap
from semfocus.kernels.cpu.library import Library, compiled_library
from semfocus.kernels.cpu.memory import in_large_pages
from semfocus.randomness import Seed

_MAPS = ("query", "key", "value", "out", "expand", "contract")


@dataclass(frozen=True)
class BlockOptions:
    """What a call says beside its tensors."""

    heads: int
    rate: float
    attention_eps: float
    mlp_eps: float
    attention: Options
    seeds: tuple[Seed, ...]  # of the three dropouts: attention output, MLP hidden layer, MLP output


def fused_block(
    x: Tensor, mask: Tensor | None, options: BlockOptions, parameters: tuple[Tensor, ...]
) -> Tensor:
    """`parameters`: weight and bias of query, key, value, out, expand, contract; mask (batch, heads, L, L)."""
    if torch.is_grad_enabled():
        return _FusedBlock.apply(x, mask, options, *parameters)
    return _forward(_description(x, mask, options, parameters), x.contiguous())


class _FusedBlock(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Tensor | None, options: BlockOptions, *parameters: Tensor
    ) -> Tensor:
        block = _description(x, mask, options, parameters)
        activations = in_large_pages(
            torch.empty(_library().block_memory(block, _is_double(x)), dtype=torch.uint8)
        )
        block.activations = activations.data_ptr()
        ctx.save_for_backward(mask, activations, *parameters)
        ctx.options = options
        return _forward(block, x.contiguous())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("the fused block has no second derivative; compute inside `without_kernels()`")
        mask, activations, *parameters = ctx.saved_tensors
        grad = grad.contiguous()
        gradients = [torch.empty(parameter.shape, dtype=grad.dtype) for parameter in parameters]
        block = _description(grad, mask, ctx.options, parameters, gradients)
        grad_input = in_large_pages(torch.empty_like(grad))
        block.activations = activations.data_ptr()
        block.grad_output, block.grad_input = grad.data_ptr(), grad_input.data_ptr()
        _library().run_block(block, _is_double(grad), is_backward=True)
        return grad_input, None, None, *gradients


def _forward(block: FusedBlock, x: Tensor) -> Tensor:
    output = in_large_pages(torch.empty_like(x))
    block.input, block.output = x.data_ptr(), output.data_ptr()
    _library().run_block(block, _is_double(x), is_backward=False)
    return output


def _description(
    x: Tensor,
    mask: Tensor | None,
    options: BlockOptions,
    parameters: Sequence[Tensor],
    gradients: Sequence[Tensor] = (),
) -> FusedBlock:
    """The call as the kernels read it, but for the addresses of activations. The parameters are contiguous."""
    batch, length, width = x.shape
    mixed_width = len(parameters[0])
    head_width = mixed_width // options.heads
    shape = (batch, options.heads, length, length, head_width, head_width)
    addresses = [tensor.data_ptr() for tensor in parameters]
    grad_addresses = [tensor.data_ptr() for tensor in gradients] or [0] * len(addresses)
    maps = {
        name: LinearMap(*addresses[at : at + 2], *grad_addresses[at : at + 2])
        for at, name in zip(range(0, 12, 2), _MAPS, strict=True)
    }
    return FusedBlock(
        attention=problem_of(shape, mask, options.attention),
        **maps,
        width=width,
        mixed_width=mixed_width,
        hidden_width=len(parameters[8]),
        dropout=options.rate,
        attention_epsilon=options.attention_eps,
        mlp_epsilon=options.mlp_eps,
        out_seed=options.seeds[0],
        hidden_seed=options.seeds[1],
        output_seed=options.seeds[2],
    )


def _library() -> Library:
    library = compiled_library()
    assert library is not None
    return library


def _is_double(x: Tensor) -> bool:
    return x.dtype == torch.float64
