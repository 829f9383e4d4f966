"""The compiled kernels as a differentiable operation: work and memory in proportion to the kept keys."""

from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.call import AttentionCall
from semfocus.mechanisms.input_agnostic import Banded, BlockLocal, Full, Random
from semfocus.mechanisms.input_dependent import BottomK, TopK
from semfocus.mechanisms.kernels.library import Problem, load_library
from semfocus.randomness import draw_seed

_MODES: dict[type, int] = {TopK: 0, BottomK: 1, Random: 2, Banded: 3, BlockLocal: 4, Full: 5}
# Full attention keeps length x length weights for its backward pass; beyond this, large products are faster.
_LONGEST_FULL = 128
_DTYPES = (torch.float32, torch.float64)


def refuses(call: AttentionCall) -> str | None:
    """Why the native kernels cannot serve a call, or None."""
    if load_library() is None:
        return "the kernels were not compiled: install with a C++ compiler (see `semfocus doctor`)"
    pattern = call.pattern
    if type(pattern) not in _MODES or (isinstance(pattern, Random) and pattern.fixed):
        return f"no native kernel for {pattern}"
    if isinstance(pattern, Full) and call.key.shape[-2] > _LONGEST_FULL:
        return f"full attention over more than {_LONGEST_FULL} keys"
    if call.query.device.type != "cpu" or call.query.dtype not in _DTYPES:
        return f"native kernels are for float32 and float64 on the CPU, not {call.query.dtype} on {call.query.device}"
    if max(call.key.shape[-2], call.query.shape[-2]) >= 2**31 or 0 in (
        call.key.shape[-2],
        call.query.shape[-2],
    ):
        return "an empty or too long sequence"
    return None


def native_attention(call: AttentionCall) -> Tensor:
    """Output (..., Lq, dv) of a call that is not refused."""
    shape = call.batch_shape
    query, key, value = (
        tensor.expand(*shape, *tensor.shape[-2:]).flatten(0, -3) if len(shape) else tensor.unsqueeze(0)
        for tensor in (call.query, call.key, call.value)
    )
    mask, inner = _mask(call)
    pattern = call.pattern
    # Larger sizes mean the same, and would not fit the kernels' integers.
    size = min(_size(pattern, key.shape[-2]), key.shape[-2] + query.shape[-2])
    output, _, _ = _attend(
        query.contiguous(),
        key.contiguous(),
        value.contiguous(),
        mask,
        inner,
        _MODES[type(pattern)],
        size,
        min(size, key.shape[-2]),
        call.causal,
        call.scale,
        call.dropout,
        draw_seed(call.generator) if call.dropout else 0,
        draw_seed(call.generator) if isinstance(pattern, Random) else 0,
        torch.get_num_threads(),
    )
    output = output.view(*shape, *output.shape[-2:])
    if not isinstance(pattern, TopK | BottomK | Full):
        output = _with_nan_rows(output, call)
    return output


def _with_nan_rows(output: Tensor, call: AttentionCall) -> Tensor:
    """Patterns of positions compute no scores of keys they pass over, and would miss a NaN there."""
    with torch.no_grad():
        if bool((call.query.sum() + call.key.sum()).isfinite()):
            return output
        scores = call.query @ call.key.transpose(-2, -1)
        has_nan = (scores.isnan() & call.allowed()).any(-1, keepdim=True)
    return output.masked_fill(has_nan, torch.nan)


def _size(pattern: Any, num_keys: int) -> int:
    if isinstance(pattern, Full):
        return num_keys
    if isinstance(pattern, Banded):
        return pattern.width
    return pattern.size if isinstance(pattern, BlockLocal) else pattern.k


def _mask(call: AttentionCall) -> tuple[Tensor | None, int]:
    """The mask as (outer, inner, Lq, Lk), broadcast without copying where two leading dimensions suffice."""
    if call.mask is None:
        return None, 1
    shape = call.batch_shape
    lengths = (call.query.shape[-2], call.key.shape[-2])
    mask = call.mask.expand(*shape, *lengths)
    if len(shape) > 2:
        mask = mask.reshape(-1, *shape[-1:], *lengths)
    while mask.dim() < 4:
        mask = mask.unsqueeze(0 if mask.dim() == 2 else 1)
    return mask, mask.shape[1]


@torch.library.custom_op("semfocus::attend", mutates_args=())
def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    inner: int,
    mode: int,
    size: int,
    kept: int,
    causal: bool,
    scale: float,
    dropout: float,
    dropout_seed: int,
    selection_seed: int,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Output, kept indices and weights; the last two are what the backward pass needs."""
    output = query.new_empty(*query.shape[:-1], value.shape[-1])
    indices = query.new_empty(*query.shape[:-1], kept, dtype=torch.int32)
    weights = query.new_empty(*query.shape[:-1], kept)
    problem = _problem(query, key, value, output, indices, weights, scale, dropout, dropout_seed, threads)
    problem.causal, problem.mode, problem.size, problem.selection_seed = causal, mode, size, selection_seed
    if mask is not None:
        problem.mask, problem.inner = mask.data_ptr(), inner
        problem.mask_outer, problem.mask_inner, problem.mask_query, problem.mask_key = mask.stride()
    library = load_library()
    assert library is not None
    library.forward(problem, query.dtype == torch.float64)
    return output, indices, weights


@_attend.register_fake
def _(query, key, value, mask, inner, mode, size, kept, *rest):  # type: ignore[no-untyped-def]
    rows = query.shape[:-1]
    return (
        query.new_empty(*rows, value.shape[-1]),
        query.new_empty(*rows, kept, dtype=torch.int32),
        query.new_empty(*rows, kept),
    )


@torch.library.custom_op("semfocus::attend_backward", mutates_args=())
def _attend_backward(
    grad_output: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    indices: Tensor,
    weights: Tensor,
    scale: float,
    dropout: float,
    dropout_seed: int,
    threads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Gradients of query, key and value."""
    grad_query, grad_key, grad_value = torch.empty_like(query), torch.zeros_like(key), torch.zeros_like(value)
    problem = _problem(
        query, key, value, grad_output, indices, weights, scale, dropout, dropout_seed, threads
    )
    problem.grad_output = grad_output.data_ptr()
    problem.grad_query, problem.grad_key, problem.grad_value = (
        tensor.data_ptr() for tensor in (grad_query, grad_key, grad_value)
    )
    library = load_library()
    assert library is not None
    library.backward(problem, query.dtype == torch.float64)
    return grad_query, grad_key, grad_value


@_attend_backward.register_fake
def _(grad_output, query, key, value, *rest):  # type: ignore[no-untyped-def]
    return torch.empty_like(query), torch.empty_like(key), torch.empty_like(value)


def _problem(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    output: Tensor,
    indices: Tensor,
    weights: Tensor,
    scale: float,
    dropout: float,
    dropout_seed: int,
    threads: int,
) -> Problem:
    batch, queries, width = query.shape
    return Problem(
        query=query.data_ptr(),
        key=key.data_ptr(),
        value=value.data_ptr(),
        output=output.data_ptr(),
        indices=indices.data_ptr(),
        weights=weights.data_ptr(),
        batch=batch,
        inner=1,
        queries=queries,
        keys=key.shape[1],
        width=width,
        value_width=value.shape[2],
        kept=indices.shape[2],
        scale=scale,
        dropout=dropout,
        dropout_seed=dropout_seed,
        threads=threads,
    )


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    query, key, value = inputs[:3]
    scale, dropout, dropout_seed, _, threads = inputs[9:]
    _, indices, weights = output
    ctx.save_for_backward(query, key, value, indices, weights)
    ctx.options = scale, dropout, dropout_seed, threads


def _differentiate(ctx: Any, grad_output: Tensor, *_: Any) -> tuple[Any, ...]:
    gradients = _attend_backward(grad_output.contiguous(), *ctx.saved_tensors, *ctx.options)
    return (*gradients, *(None,) * 11)


def _refuse_second_derivative(ctx: Any, *_: Any) -> tuple[Any, ...]:
    raise RuntimeError("native attention has no second derivative; use implementation='reference'")


_attend.register_autograd(_differentiate, setup_context=_save)
_attend_backward.register_autograd(_refuse_second_derivative)
