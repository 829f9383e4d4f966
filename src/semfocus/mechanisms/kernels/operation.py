"""The kernels as registered operations, which torch.compile, torch.export and dispatch modes can see."""

from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.kernels.computation import (
    Options,
    attention_backward,
    attention_forward,
    empty_results,
)


def _rows(tensor: Tensor) -> Tensor:
    """The kernels read numbers as they are, and the features of a row side by side."""
    tensor = tensor.resolve_neg()
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


@torch.library.custom_op("semfocus::attend", mutates_args=())
def attend_operation(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    mode: int,
    size: int,
    kept: int,
    causal: bool,
    scale: float,
    dropout: float,
    selection_seed: Tensor,
    dropout_seed: Tensor,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """`attention_forward` as an operation that torch.compile and torch.export can see."""
    seeds = int(selection_seed), int(dropout_seed)
    threads = threads or torch.get_num_threads()
    options = Options(mode, size, kept, causal, scale, dropout, *seeds, threads)
    return attention_forward(_rows(query), _rows(key), _rows(value), mask, options)


@attend_operation.register_fake
def _(query, key, value, mask, *options):  # type: ignore[no-untyped-def]
    return empty_results(query, value, Options(*options))


@torch.library.custom_op("semfocus::attend_backward", mutates_args=())
def attend_backward_operation(
    grad_output: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    output: Tensor,
    indices: Tensor,
    weights: Tensor,
    mode: int,
    size: int,
    kept: int,
    causal: bool,
    scale: float,
    dropout: float,
    selection_seed: Tensor,
    dropout_seed: Tensor,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """`attention_backward` as an operation."""
    seeds = int(selection_seed), int(dropout_seed)
    threads = threads or torch.get_num_threads()
    options = Options(mode, size, kept, causal, scale, dropout, *seeds, threads)
    gradients = query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)
    query, key, value = map(_rows, (query, key, value))
    attention_backward(grad_output, query, key, value, mask, output, indices, weights, options, gradients)
    return gradients


@attend_backward_operation.register_fake
def _(grad_output, query, key, value, *rest):  # type: ignore[no-untyped-def]
    return tuple(tensor.new_empty(tensor.shape) for tensor in (query, key, value))


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    query, key, value, mask, *options = inputs
    *numbers, selection_seed, dropout_seed, threads = options
    ctx.save_for_backward(query, key, value, mask, *output, selection_seed, dropout_seed)
    ctx.numbers, ctx.threads = numbers, threads


def _differentiate(ctx: Any, grad_output: Tensor, *_: Any) -> tuple[Any, ...]:
    *tensors, selection_seed, dropout_seed = ctx.saved_tensors
    gradients = attend_backward_operation(
        grad_output, *tensors, *ctx.numbers, selection_seed, dropout_seed, ctx.threads
    )
    return (*gradients, *(None,) * 10)


def _refuse_second_derivative(ctx: Any, *_: Any) -> tuple[Any, ...]:
    raise RuntimeError("native attention has no second derivative; use implementation='torch' or 'reference'")


attend_operation.register_autograd(_differentiate, setup_context=_save)
attend_backward_operation.register_autograd(_refuse_second_derivative)
