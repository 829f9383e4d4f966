"""The attention kernels as differentiable operations: registered ones, and the quickest way to call them."""

from typing import Any, cast

import torch
from torch import Tensor

from semfocus.kernels.cpu.attention import (
    Options,
    attention_backward,
    attention_forward,
    empty_results,
)
from semfocus.kernels.cpu.layout import Mode
from semfocus.kernels.cpu.memory import in_large_pages
from semfocus.kernels.onlookers import is_dispatched, is_transformed


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
    mode: str,
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
    options = Options(cast(Mode, mode), size, kept, causal, scale, dropout, *seeds, threads)
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
    mode: str,
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
    options = Options(cast(Mode, mode), size, kept, causal, scale, dropout, *seeds, threads)
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
    raise RuntimeError(
        "native attention has no second derivative; use implementation='torch' or 'reference', "
        "or, with a model, compute the output inside `with semfocus.capture(model):`"
    )


attend_operation.register_autograd(_differentiate, setup_context=_save)
attend_backward_operation.register_autograd(_refuse_second_derivative)


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


def attend_changed(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None, options: Options
) -> Tensor:
    """The same with changed scores, of top and bottom: `options.softcap`, and a bias that broadcasts to all scores."""
    return _AttendChanged.apply(query, key, value, mask, bias, options)


class _AttendChanged(torch.autograd.Function):
    """The backward pass never reads the bias: the weights of the kept keys say all."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        options: Options,
    ) -> Tensor:
        everywhere = None if bias is None else _rows(bias.expand(*query.shape[:3], key.shape[2]))
        output, indices, weights = attention_forward(query, key, value, mask, options, everywhere)
        ctx.save_for_backward(query, key, value, mask, output, indices, weights)
        ctx.options, ctx.bias_shape = options, None if bias is None else bias.shape
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        query, key, value, mask, output, indices, weights = ctx.saved_tensors
        gradients: tuple[Tensor, ...] = _gradients(query, key, value)
        grad_scores = torch.empty_like(weights) if ctx.needs_input_grad[4] else None
        results = output, indices, weights
        attention_backward(
            grad_output, query, key, value, mask, *results, ctx.options, gradients, grad_scores
        )
        if torch.is_grad_enabled():
            gradients = _Once.apply(query, key, value, grad_output, *gradients)
        grad_bias = None if grad_scores is None else _scattered(grad_scores, indices, ctx.bias_shape)
        return *gradients, None, grad_bias, None


class _Once(torch.autograd.Function):
    """Gradients that say so when they are to be differentiated again by what they depend on."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        return tuple(each.view_as(each) for each in tensors[4:])

    backward = staticmethod(_refuse_second_derivative)


def _scattered(kept: Tensor, indices: Tensor, shape: torch.Size) -> Tensor:
    """Numbers of kept keys (outer, inner, queries, kept) summed into a tensor that broadcasts to all scores."""
    total = kept.new_zeros(shape)
    there = indices.clamp(min=0).long()  # where fewer are kept the numbers are 0
    places = torch.zeros((), dtype=torch.long)
    for dim, stride in enumerate(total.stride()):
        along = there if dim == 3 else torch.arange(kept.shape[dim]).view(-1, *(1,) * (3 - dim))
        places = places + (along * stride if shape[dim] > 1 else 0)
    total.view(-1).scatter_add_(0, places.expand(kept.shape).reshape(-1), kept.reshape(-1))
    return total


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
