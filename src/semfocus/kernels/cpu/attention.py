"""Calls of the compiled kernels on tensors of (outer, inner, length, features), forward and backward."""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.kernels.cpu.layout import Mode, Problem, Rows
from semfocus.kernels.cpu.library import Library, compiled_library
from semfocus.kernels.cpu.memory import in_large_pages
from semfocus.randomness import Seed


@dataclass(frozen=True)
class Options:
    """What a call says beside its tensors."""

    mode: Mode
    size: int
    kept: int
    causal: bool
    scale: float
    dropout: float
    selection_seed: Seed
    dropout_seed: Seed
    threads: int
    #: of top and bottom, 0 for none
    softcap: float = 0.0

    def values(self) -> tuple[Mode, int, int, bool, float, float, Tensor, Tensor, int]:
        """In order, as a registered operation takes them: what is drawn anew in every call is a tensor.

        (dataclasses.astuple would copy each deeply, which torch.compile and torch.export cannot follow.)
        """
        first = (self.mode, self.size, self.kept, self.causal, self.scale, self.dropout)
        return (
            *first,
            torch.as_tensor(self.selection_seed),
            torch.as_tensor(self.dropout_seed),
            self.threads,
        )


def attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    options: Options,
    bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Output, and what the backward pass needs: kept indices, and weights (full attention: maximum and sum).

    bias, of top and bottom: (outer, inner, queries, keys), the keys side by side.
    """
    output, indices, weights = map(in_large_pages, empty_results(query, value, options))
    problem = _problem(query, key, value, mask, output, indices, weights, options)
    if bias is not None:
        problem.bias = _rows_of(bias)
    if _library().forward(problem, query.dtype == torch.float64):
        _mark_nan_rows(query, key, mask, options.causal, output, weights)
    return output, indices, weights


def empty_results(query: Tensor, value: Tensor, options: Options) -> tuple[Tensor, Tensor, Tensor]:
    """Memory for output, kept indices and weights."""
    outer, inner, num_queries, _ = query.shape
    # Heads side by side in memory: joining them afterwards costs nothing.
    output = query.new_empty(outer, num_queries, inner, value.shape[-1]).transpose(1, 2)
    indices = query.new_empty(outer, inner, num_queries, options.kept, dtype=torch.int32)
    kept = 2 if options.mode == "all" else options.kept
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
    grad_scores: Tensor | None = None,
) -> None:
    """Write the gradients of query, key and value, and of the kept scores if those are asked for."""
    if grad_output.stride(-1) != 1:
        grad_output = grad_output.contiguous()
    problem = _problem(query, key, value, mask, output, indices, weights, options)
    problem.grad_output = _rows_of(grad_output)
    problem.grad_query, problem.grad_key, problem.grad_value = map(_rows_of, gradients)
    problem.grad_scores = None if grad_scores is None else grad_scores.data_ptr()
    _library().backward(problem, query.dtype == torch.float64)


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
        softcap=options.softcap,
        dropout=options.dropout,
        dropout_seed=options.dropout_seed,
        selection_seed=options.selection_seed,
        causal=options.causal,
        mode=_library().numbers["Mode"][options.mode],
        size=options.size,
        threads=options.threads,
    )
    if mask is not None:
        problem.mask = mask.data_ptr()
        problem.mask_outer, problem.mask_inner, problem.mask_query, problem.mask_key = mask.stride()
    return problem


def _library() -> Library:
    library = compiled_library()
    assert library is not None
    return library
