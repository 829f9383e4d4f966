"""A whole block as one differentiable operation: matrix products, kernels, and nothing between them.

The same mathematics as `Block`, in the same order of random numbers; what it saves is the bookkeeping of a
dozen small operations, which at length 40 costs as much as the arithmetic. `Block` is its definition.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.kernels.operation import Options, attention_backward, attention_forward
from semfocus.model.passes import BACKWARD, FORWARD, RELU, RELU_BACKWARD, run_pass


@dataclass(frozen=True)
class BlockOptions:
    """What a call says beside its tensors."""

    heads: int
    rate: float
    attention_eps: float
    mlp_eps: float
    attention: Options
    seeds: tuple[int, int, int]  # of the three dropouts: attention output, MLP hidden layer, MLP output


@dataclass
class Activations:
    """What the backward pass needs; every array has one row a token."""

    normed: Tensor
    factors: Tensor
    joint: Tensor  # query, key and value side by side
    mixed: Tensor
    indices: Tensor
    weights: Tensor
    second_normed: Tensor
    second_factors: Tensor
    hidden: Tensor


def fused_block(
    x: Tensor, mask: Tensor | None, options: BlockOptions, parameters: tuple[Tensor, ...]
) -> Tensor:
    """`parameters`: weight and bias of query, key, value, out, expand, contract."""
    if torch.is_grad_enabled():
        return _FusedBlock.apply(x, mask, options, *parameters)
    return _forward(x, mask, options, parameters)[0]


class _FusedBlock(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, mask: Tensor | None, options: BlockOptions, *parameters: Tensor
    ) -> Tensor:
        output, activations = _forward(x, mask, options, parameters)
        ctx.save_for_backward(mask, *parameters, *vars(activations).values())
        ctx.options = options
        return output

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        if torch.is_grad_enabled():
            raise RuntimeError("the fused block has no second derivative; compute inside `without_kernels()`")
        mask, *saved = ctx.saved_tensors
        grad_x, gradients = _backward(grad, mask, ctx.options, saved[:12], Activations(*saved[12:]))
        return grad_x, None, None, *gradients


def _forward(
    x: Tensor, mask: Tensor | None, options: BlockOptions, parameters: tuple[Tensor, ...]
) -> tuple[Tensor, Activations]:
    batch, length, width = x.shape
    weight, bias = torch.cat(parameters[0:6:2]), torch.cat(parameters[1:6:2])
    out_weight, out_bias, expand_weight, expand_bias, contract_weight, contract_bias = parameters[6:]
    rows = x.reshape(-1, width)

    normed, factors = torch.empty_like(rows), rows.new_empty(len(rows))
    run_pass(FORWARD, rows, epsilon=options.attention_eps, input=rows, normed=normed, factors=factors)
    joint = torch.mm(normed, weight.t())
    run_pass(FORWARD, joint, other=joint, bias=bias, sum=joint)
    query, key, value = _heads(joint, batch, length, options.heads)
    mixed, indices, weights = attention_forward(query, key, value, mask, options.attention)
    mixed = mixed.transpose(1, 2).reshape(len(rows), -1)

    middle, second_normed, second_factors = (
        torch.empty_like(rows),
        torch.empty_like(rows),
        rows.new_empty(len(rows)),
    )
    run_pass(
        FORWARD,
        rows,
        options.rate,
        options.seeds[0],
        options.mlp_eps,
        input=rows,
        other=torch.mm(mixed, out_weight.t()),
        bias=out_bias,
        sum=middle,
        normed=second_normed,
        factors=second_factors,
    )
    hidden = torch.mm(second_normed, expand_weight.t())
    run_pass(RELU, hidden, options.rate, options.seeds[1], input=hidden, bias=expand_bias, sum=hidden)
    contracted = torch.mm(hidden, contract_weight.t())
    run_pass(
        FORWARD,
        rows,
        options.rate,
        options.seeds[2],
        input=middle,
        other=contracted,
        bias=contract_bias,
        sum=contracted,
    )
    activations = Activations(
        normed, factors, joint, mixed, indices, weights, second_normed, second_factors, hidden
    )
    return contracted.view(batch, length, width), activations


def _backward(
    grad: Tensor,
    mask: Tensor | None,
    options: BlockOptions,
    parameters: list[Tensor],
    saved: Activations,
) -> tuple[Tensor, tuple[Tensor, ...]]:
    batch, length, width = grad.shape
    weight = torch.cat(parameters[0:6:2])
    out_weight, expand_weight, contract_weight = parameters[6::2]
    rows = grad.reshape(-1, width)
    rate, seeds = options.rate, options.seeds
    ones = rows.new_ones(len(rows))

    grad_contracted = torch.empty_like(rows)
    run_pass(BACKWARD, rows, rate, seeds[2], grad_sum=rows, grad_other=grad_contracted)
    grad_hidden = torch.mm(grad_contracted, contract_weight)
    run_pass(RELU_BACKWARD, grad_hidden, rate, sum=saved.hidden, grad_sum=grad_hidden, grad_input=grad_hidden)

    grad_middle, grad_out = torch.empty_like(rows), torch.empty_like(rows)
    run_pass(
        BACKWARD,
        rows,
        rate,
        seeds[0],
        normed=saved.second_normed,
        factors=saved.second_factors,
        grad_sum=rows,
        grad_normed=torch.mm(grad_hidden, expand_weight),
        grad_input=grad_middle,
        grad_other=grad_out,
    )
    grad_joint = torch.empty_like(saved.joint)
    query, key, value = _heads(saved.joint, batch, length, options.heads)
    (grad_mixed,) = _heads(torch.mm(grad_out, out_weight), batch, length, options.heads, parts=1)
    (mixed,) = _heads(saved.mixed, batch, length, options.heads, parts=1)
    attention_backward(
        grad_mixed,
        query,
        key,
        value,
        mask,
        mixed,
        saved.indices,
        saved.weights,
        options.attention,
        _heads(grad_joint, batch, length, options.heads),
    )
    grad_x = torch.empty_like(rows)
    run_pass(
        BACKWARD,
        rows,
        normed=saved.normed,
        factors=saved.factors,
        grad_sum=grad_middle,
        grad_normed=torch.mm(grad_joint, weight),
        grad_input=grad_x,
    )
    gradients = [
        *torch.mm(grad_joint.t(), saved.normed).chunk(3),
        torch.mm(grad_out.t(), saved.mixed),
        torch.mm(grad_hidden.t(), saved.second_normed),
        torch.mm(grad_contracted.t(), saved.hidden),
    ]
    biases = [
        *torch.mv(grad_joint.t(), ones).chunk(3),
        *(torch.mv(each.t(), ones) for each in (grad_out, grad_hidden, grad_contracted)),
    ]
    pairs = tuple(each for pair in zip(gradients, biases, strict=True) for each in pair)
    return grad_x.view(batch, length, width), pairs


def _heads(rows: Tensor, batch: int, length: int, heads: int, parts: int = 3) -> tuple[Tensor, ...]:
    """(tokens, parts * heads * width) -> `parts` views of (batch, heads, length, width)"""
    return rows.view(batch, length, parts, heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
