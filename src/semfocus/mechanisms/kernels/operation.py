"""The kernels as a differentiable operation on (outer, inner, length, features)."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.kernels.library import Problem, Rows, compiled_library
from semfocus.mechanisms.kernels.memory import in_large_pages
from semfocus.mechanisms.transforms import is_dispatched, is_transformed

_FULL = 5


@dataclass(frozen=True)
class Options:
    """What a call says beside its tensors; `mode` as in source/problem.h."""

    mode: int
    size: int
    kept: int
    causal: bool
    scale: float
    dropout: float
    selection_seed: int
    dropout_seed: int
    threads: int

    def values(self) -> tuple[int, int, int, bool, float, float, int, int, int]:
        """In order. (dataclasses.astuple would copy each deeply, which torch.compile and torch.export cannot follow.)"""
        first = (self.mode, self.size, self.kept, self.causal, self.scale, self.dropout)
        return (*first, self.selection_seed, self.dropout_seed, self.threads)


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


def attention_forward(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, options: Options
) -> tuple[Tensor, Tensor, Tensor]:
    """Output, and what the backward pass needs: kept indices, and weights (full attention: maximum and sum)."""
    output, indices, weights = map(in_large_pages, _results(query, value, options))
    problem = _problem(query, key, value, mask, output, indices, weights, options)
    library = compiled_library()
    assert library is not None
    if library.forward(problem, query.dtype == torch.float64):
        _mark_nan_rows(query, key, mask, options.causal, output, weights)
    return output, indices, weights


def _results(query: Tensor, value: Tensor, options: Options) -> tuple[Tensor, Tensor, Tensor]:
    outer, inner, num_queries, _ = query.shape
    # Heads side by side in memory: joining them afterwards costs nothing.
    output = query.new_empty(outer, num_queries, inner, value.shape[-1]).transpose(1, 2)
    indices = query.new_empty(outer, inner, num_queries, options.kept, dtype=torch.int32)
    kept = 2 if options.mode == _FULL else options.kept
    return output, indices, query.new_empty(outer, inner, num_queries, kept)


def _mark_nan_rows(
    query: Tensor, key: Tensor, mask: Tensor | None, causal: bool, output: Tensor, weights: Tensor
) -> None:
    """Patterns of positions compute no scores of keys they pass over, and would miss a NaN there."""
    num_queries, num_keys = query.shape[-2], key.shape[-2]
    with torch.no_grad():
        for first in range(0, num_queries, 1024):
            rows = slice(first, first + 1024)
            has_nan = (query[..., rows, :] @ key.transpose(-2, -1)).isnan()
            if causal:
                positions = torch.arange(num_keys - num_queries, num_keys)[rows, None]
                has_nan &= torch.arange(num_keys) <= positions
            if mask is not None:
                has_nan &= mask[..., rows, :]
            spoilt = has_nan.any(-1, keepdim=True)
            output[..., rows, :].masked_fill_(spoilt, torch.nan)
            weights[..., rows, :].masked_fill_(spoilt, torch.nan)


def attention_backward(
    grad_output: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    output: Tensor,
    indices: Tensor,
    weights: Tensor,
    options: Options,
    gradients: tuple[Tensor, ...],
) -> None:
    """Write the gradients of query, key and value."""
    if grad_output.stride(-1) != 1:
        grad_output = grad_output.contiguous()
    problem = _problem(query, key, value, mask, output, indices, weights, options)
    problem.grad_output = _rows_of(grad_output)
    problem.grad_query, problem.grad_key, problem.grad_value = map(_rows_of, gradients)
    library = compiled_library()
    assert library is not None
    library.backward(problem, query.dtype == torch.float64)


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


def _rows_of(tensor: Tensor) -> Rows:
    return Rows(tensor.data_ptr(), *tensor.stride()[:3])


def _problem(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    output: Tensor,
    indices: Tensor,
    weights: Tensor,
    options: Options,
) -> Problem:
    outer, inner, num_queries, width = query.shape
    problem = problem_of((outer, inner, num_queries, key.shape[2], width, value.shape[3]), mask, options)
    problem.query, problem.key = _rows_of(query), _rows_of(key)
    problem.value, problem.output = _rows_of(value), _rows_of(output)
    problem.indices, problem.weights = indices.data_ptr(), weights.data_ptr()
    return problem


def problem_of(shape: tuple[int, int, int, int, int, int], mask: Tensor | None, options: Options) -> Problem:
    """A call as the kernels read it, but for the addresses of its rows.

    `shape` is outer, inner, queries, keys, width, value width; mask (outer, inner, queries, keys).
    """
    outer, inner, num_queries, num_keys, width, value_width = shape
    problem = Problem(
        batch=outer * inner,
        inner=inner,
        queries=num_queries,
        keys=num_keys,
        width=width,
        value_width=value_width,
        kept=options.kept,
        scale=options.scale,
        dropout=options.dropout,
        dropout_seed=options.dropout_seed,
        selection_seed=options.selection_seed,
        causal=options.causal,
        mode=options.mode,
        size=options.size,
        threads=options.threads,
    )
    if mask is not None:
        problem.mask = mask.data_ptr()
        problem.mask_outer, problem.mask_inner, problem.mask_query, problem.mask_key = mask.stride()
    return problem


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
    selection_seed: int,
    dropout_seed: int,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """`attention_forward` as an operation that torch.compile and torch.export can see."""
    options = Options(mode, size, kept, causal, scale, dropout, selection_seed, dropout_seed, threads)
    return attention_forward(query, key, value, mask, options)


@attend_operation.register_fake
def _(query, key, value, mask, *options):  # type: ignore[no-untyped-def]
    return _results(query, value, Options(*options))


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
    selection_seed: int,
    dropout_seed: int,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """`attention_backward` as an operation."""
    options = Options(mode, size, kept, causal, scale, dropout, selection_seed, dropout_seed, threads)
    gradients = query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)
    attention_backward(grad_output, query, key, value, mask, output, indices, weights, options, gradients)
    return gradients


@attend_backward_operation.register_fake
def _(grad_output, query, key, value, *rest):  # type: ignore[no-untyped-def]
    return tuple(tensor.new_empty(tensor.shape) for tensor in (query, key, value))


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    query, key, value, mask, *options = inputs
    ctx.save_for_backward(query, key, value, mask, *output)
    ctx.options = options


def _differentiate(ctx: Any, grad_output: Tensor, *_: Any) -> tuple[Any, ...]:
    gradients = attend_backward_operation(grad_output, *ctx.saved_tensors, *ctx.options)
    return (*gradients, *(None,) * 10)


def _refuse_second_derivative(ctx: Any, *_: Any) -> tuple[Any, ...]:
    raise RuntimeError("native attention has no second derivative; use implementation='torch' or 'reference'")


attend_operation.register_autograd(_differentiate, setup_context=_save)
attend_backward_operation.register_autograd(_refuse_second_derivative)
