"""Attention of a bounded number of kept keys: scores by blocks, everything after them on gathered keys alone."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.mechanisms.autocast import without_autocast
from semfocus.mechanisms.chunks import Chunks, leaf
from semfocus.mechanisms.pattern import QueryRows
from semfocus.mechanisms.reference import allowed_scores, rows_with_nan, softmax_over_kept, sum_of_kept


def gathered_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, chunks: Chunks, num_kept: int
) -> Tensor:
    """Output (batch, Lq, dv) where no query keeps more than `num_kept` keys."""
    return _Gathered.apply(query, key, value, mask, chunks, num_kept)


class _Gathered(torch.autograd.Function):
    """Saved are the indices of the kept keys; one after the last key stands for none."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        chunks: Chunks,
        num_kept: int,
    ) -> Tensor:
        batch, num_queries, _ = query.shape
        output = query.new_empty(batch, num_queries, value.shape[-1])
        indices = query.new_empty(batch, num_queries, num_kept, dtype=torch.int32)
        has_nan = query.new_zeros(batch, num_queries, 1, dtype=torch.bool)
        padded_value = _padded(value)
        with without_autocast(query.device):
            for rows in chunks.blocks():
                block = slice(rows.first, rows.stop)
                allowed = chunks.allowed(rows, mask, query.device)
                scores = allowed_scores(query[:, block], key, chunks.scale, allowed)
                kept = (chunks.pattern.keep_rows(scores, allowed, rows) & allowed).expand(scores.shape)
                spoilt = rows_with_nan(scores)
                if spoilt is not None:
                    has_nan[:, block] = spoilt
                block_indices = indices[:, block] = _indices(kept, num_kept)
                scores = F.pad(scores, (0, 1), value=-torch.inf).gather(-1, block_indices)
                gathered = padded_value[_places(block_indices, chunks.num_keys)]
                output[:, block] = _attend(scores, gathered, block_indices, spoilt, chunks, rows)
        ctx.save_for_backward(query, key, value, indices, has_nan if has_nan.any() else None)
        ctx.chunks = chunks
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        query, key, value, indices, has_nan = ctx.saved_tensors
        chunks: Chunks = ctx.chunks
        padded_key, padded_value = _padded(key), _padded(value)
        grad_query = torch.empty_like(query)
        grad_key, grad_value = torch.zeros_like(padded_key), torch.zeros_like(padded_value)
        again = torch.is_grad_enabled()
        with without_autocast(query.device):
            for rows in chunks.blocks():
                block = slice(rows.first, rows.stop)
                block_indices = indices[:, block].long()
                places = _places(block_indices, chunks.num_keys)
                tensors = leaf(query[:, block]), leaf(padded_key[places]), leaf(padded_value[places])
                spoilt = None if has_nan is None else has_nan[:, block]
                with torch.enable_grad():
                    scores = _scores(*tensors[:2], block_indices, chunks)
                    output = _attend(scores, tensors[2], block_indices, spoilt, chunks, rows)
                    gradients = torch.autograd.grad(
                        output, tensors, grad_output[:, block], create_graph=again
                    )
                grad_query[:, block] = gradients[0]
                for total, part in zip((grad_key, grad_value), gradients[1:], strict=True):
                    width = part.shape[-1]
                    total.scatter_add_(0, places.view(-1, 1).expand(-1, width), part.reshape(-1, width))
        batch = query.shape[0]
        grad_key, grad_value = (total.unflatten(0, (batch, -1))[:, :-1] for total in (grad_key, grad_value))
        return grad_query, grad_key, grad_value, None, None, None


def _scores(query: Tensor, key: Tensor, indices: Tensor, chunks: Chunks) -> Tensor:
    """Scores (batch, rows, kept) of queries (batch, rows, d) and the keys (batch, rows, kept, d) of each."""
    kept = (indices < chunks.num_keys).unsqueeze(-2)
    return allowed_scores(query.unsqueeze(-2), key, chunks.scale, kept).squeeze(-2)


def _attend(
    scores: Tensor,
    value: Tensor,
    indices: Tensor,
    has_nan: Tensor | None,
    chunks: Chunks,
    rows: QueryRows,
) -> Tensor:
    """Output (batch, rows, dv) from scores and values (batch, rows, kept, dv) of the kept keys."""
    kept = indices < chunks.num_keys
    weights = softmax_over_kept(scores, kept, has_nan)
    weights = chunks.drop(weights, rows.numbers(scores.shape[:1], scores.device), indices)
    has_nan = None if has_nan is None else has_nan.unsqueeze(-2)
    return sum_of_kept(weights.unsqueeze(-2), kept.unsqueeze(-2), value, has_nan).squeeze(-2)


def _indices(kept: Tensor, num_kept: int) -> Tensor:
    """Which keys each row keeps, ascending, filled up with one after the last key."""
    by_row = kept.flatten(0, 1)
    rows, columns = by_row.nonzero(as_tuple=True)
    counts = by_row.sum(-1)
    before = counts.cumsum(0) - counts
    indices = columns.new_full((by_row.shape[0], num_kept), kept.shape[-1])
    indices[rows, torch.arange(len(rows), device=kept.device) - before[rows]] = columns
    return indices.view(*kept.shape[:-1], num_kept)


def _padded(tensor: Tensor) -> Tensor:
    """All rows of the batch one below the other, each with a row of zeros after the last: what none stands for."""
    return F.pad(tensor, (0, 0, 0, 1)).flatten(0, 1)


def _places(indices: Tensor, num_keys: int) -> Tensor:
    """Rows of a padded tensor."""
    batch = torch.arange(indices.shape[0], device=indices.device).view(-1, 1, 1)
    return indices + batch * (num_keys + 1)
