"""A whole block as one differentiable operation on the compiled kernels.

The same mathematics as `Block`, with the same random numbers. Sequence by sequence, what one product writes the
next one reads from cache; and none of the bookkeeping of a dozen small operations, which at length 40 costs as
much as the arithmetic. `Block` is its definition.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.kernels.library import Block, Linear, Rows, load_library
from semfocus.mechanisms.kernels.operation import Options, problem_of

_MAPS = ("joint_map", "out_map", "expand_map", "contract_map")


@dataclass(frozen=True)
class BlockOptions:
    """What a call says beside its tensors."""

    heads: int
    rate: float
    attention_eps: float
    mlp_eps: float
    attention: Options
    seeds: tuple[int, ...]  # of the three dropouts: attention output, MLP hidden layer, MLP output


def fused_block(
    x: Tensor, mask: Tensor | None, options: BlockOptions, parameters: tuple[Tensor, ...]
) -> Tensor:
    """`parameters`: weight and bias of query, key, value, out, expand, contract; mask (batch, heads, L, L)."""
    if torch.is_grad_enabled():
        return _FusedBlock.apply(x, mask, options, *parameters)
    return _Computation(x.contiguous(), mask, options, parameters).forward()


class _FusedBlock(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Tensor | None, options: BlockOptions, *parameters: Tensor
    ) -> Tensor:
        computation = _Computation(x.contiguous(), mask, options, parameters)
        ctx.save_for_backward(mask, *parameters, *computation.activations)
        ctx.options = options
        return computation.forward()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("the fused block has no second derivative; compute inside `without_kernels()`")
        mask, *saved = ctx.saved_tensors
        grad = grad.contiguous()
        computation = _Computation(grad, mask, ctx.options, saved[:12], saved[12:])
        return *computation.backward(grad), None, None, *computation.parameter_gradients()


class _Computation:
    """One call: the memory of its activations, and the description that the kernels read."""

    def __init__(
        self,
        x: Tensor,
        mask: Tensor | None,
        options: BlockOptions,
        parameters: list[Tensor] | tuple[Tensor, ...],
        activations: list[Tensor] | None = None,
    ) -> None:
        self.x, self.options = x, options
        self.maps = [
            (torch.cat(parameters[0:6:2]), torch.cat(parameters[1:6:2])),
            *zip(parameters[6::2], parameters[7::2], strict=True),
        ]
        self.activations = self._memory() if activations is None else activations
        normed, factors, joint, mixed, indices, weights, second_normed, second_factors, hidden = (
            self.activations
        )
        part = mixed.shape[-1]
        self.block = Block(
            attention=self._attention(mask, joint, mixed, indices, weights),
            input=x.data_ptr(),
            normed=normed.data_ptr(),
            factors=factors.data_ptr(),
            joint=joint.data_ptr(),
            mixed=mixed.data_ptr(),
            second_normed=second_normed.data_ptr(),
            second_factors=second_factors.data_ptr(),
            hidden=hidden.data_ptr(),
            width=x.shape[-1],
            joint_width=3 * part,
            mixed_width=part,
            hidden_width=hidden.shape[-1],
            dropout=options.rate,
            attention_epsilon=options.attention_eps,
            mlp_epsilon=options.mlp_eps,
            out_seed=options.seeds[0],
            hidden_seed=options.seeds[1],
            output_seed=options.seeds[2],
        )

    def _memory(self) -> list[Tensor]:
        """normed, factors, joint, mixed, indices, weights, second_normed, second_factors, hidden"""
        x, heads, attention = self.x, self.options.heads, self.options.attention
        batch, length, _ = x.shape
        joint_width, hidden_width = len(self.maps[0][0]), len(self.maps[2][0])
        return [
            torch.empty_like(x),
            x.new_empty(batch, length),
            x.new_empty(batch, length, joint_width),
            x.new_empty(batch, length, joint_width // 3),
            x.new_empty(batch, heads, length, attention.kept, dtype=torch.int32),
            x.new_empty(batch, heads, length, max(attention.kept, 1)),
            torch.empty_like(x),
            x.new_empty(batch, length),
            x.new_empty(batch, length, hidden_width),
        ]

    def _attention(
        self, mask: Tensor | None, joint: Tensor, mixed: Tensor, indices: Tensor, weights: Tensor
    ) -> Any:
        batch, length, part = mixed.shape
        heads = self.options.heads
        width, size = part // heads, joint.element_size()
        query, key, value = (
            Rows(joint.data_ptr() + index * part * size, 3 * part * length, width, 3 * part)
            for index in range(3)
        )
        output = Rows(mixed.data_ptr(), part * length, width, part)
        shape = (batch, heads, length, length, width, width)
        return problem_of(query, key, value, output, shape, mask, indices, weights, self.options.attention)

    def forward(self) -> Tensor:
        output = torch.empty_like(self.x)
        self.block.output = output.data_ptr()
        for name, (weight, bias) in zip(_MAPS, self.maps, strict=True):
            setattr(self.block, name, Linear(weight=weight.data_ptr(), bias=bias.data_ptr()))
        self._run(is_backward=False)
        return output

    def backward(self, grad: Tensor) -> tuple[Tensor]:
        grad_input = torch.empty_like(grad)
        self.gradients = [(torch.empty_like(weight), torch.empty_like(bias)) for weight, bias in self.maps]
        self.block.grad_output, self.block.grad_input = grad.data_ptr(), grad_input.data_ptr()
        for name, pair in zip(_MAPS, zip(self.maps, self.gradients, strict=True), strict=True):
            addresses = [tensor.data_ptr() for both in pair for tensor in both]
            setattr(self.block, name, Linear(*addresses))
        self._run(is_backward=True)
        return (grad_input,)

    def parameter_gradients(self) -> list[Tensor]:
        """In the order of the parameters."""
        (weight, bias), *others = self.gradients
        thirds = zip(weight.chunk(3), bias.chunk(3), strict=True)
        return [each for pair in (*thirds, *others) for each in pair]

    def _run(self, is_backward: bool) -> None:
        library = load_library()
        assert library is not None
        library.run_block(self.block, self.x.dtype == torch.float64, is_backward)
