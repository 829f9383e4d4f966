"""Attention in plain PyTorch on any device, by blocks of queries, without a matrix of all queries by all keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, overload

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus.kernels.onlookers import REASON, is_dispatched, is_transformed
from semfocus.mechanisms.call import AttentionCall, allowed_rows, without_autocast
from semfocus.mechanisms.pattern import PatternByRows, QueryRows
from semfocus.mechanisms.reference import (
    allowed_scores,
    at_least_float32,
    changed,
    rows_with_nan,
    softmax_over_kept,
    sum_of_kept,
)
from semfocus.randomness import Seed, draw_seed, drop_at

# How many scores, or features of gathered keys, are held at once.
NUMBERS_AT_ONCE = 2**22


@dataclass(frozen=True)
class Chunks:
    """What a call says beside its tensors, for query (batch, Lq, d), key (batch, Lk, d), value (batch, Lk, dv)."""

    pattern: PatternByRows
    batch_shape: torch.Size
    num_queries: int
    num_keys: int
    causal: bool
    scale: float
    dropout: float
    selection_seed: Seed | None
    dropout_seed: Seed
    rows_at_once: int
    softcap: float | None = None

    def blocks(self) -> Iterator[QueryRows]:
        """All queries, block by block."""
        for first in range(0, self.num_queries, self.rows_at_once):
            stop = min(first + self.rows_at_once, self.num_queries)
            yield QueryRows(first, stop, self.num_queries, self.num_keys, self.selection_seed)

    def allowed(self, rows: QueryRows, mask: Tensor | None, device: torch.device) -> Tensor:
        """What the block may attend to: (rows, Lk), or (batch, rows, Lk) where the mask differs in the batch."""
        allowed = allowed_rows(rows, mask, self.causal, device)
        if allowed.dim() == 2:
            return allowed
        return allowed.expand(*self.batch_shape, *allowed.shape[-2:]).flatten(0, -3)

    def change(self, scores: Tensor, bias: Tensor | None) -> Tensor:
        """What the call does to scores (batch, rows, Lk); bias: that of these rows, as the call broadcasts it."""
        if bias is not None:
            bias = bias.expand(*self.batch_shape, *scores.shape[-2:]).flatten(0, -3)
        return changed(scores, self.softcap, bias)

    def drop(self, weights: Tensor, numbers: Tensor, columns: Tensor) -> Tensor:
        """Dropout of the weights of these row numbers and keys."""
        if self.dropout == 0.0:
            return weights
        return drop_at(weights, self.dropout, self.dropout_seed, numbers, columns)


def chunks_of(call: AttentionCall, kept_at_once: int | None) -> Chunks:
    """Seeds are drawn here: selection before dropout, so that one generator gives one result everywhere."""
    assert isinstance(call.pattern, PatternByRows)
    num_queries, num_keys = call.query.shape[-2], call.key.shape[-2]
    gathered = (kept_at_once or 0) * max(call.query.shape[-1], call.value.shape[-1])
    return Chunks(
        pattern=call.pattern,
        batch_shape=call.batch_shape,
        num_queries=num_queries,
        num_keys=num_keys,
        causal=call.causal,
        scale=call.scale,
        dropout=call.dropout,
        selection_seed=call.pattern.selection_seed(call.generator),
        dropout_seed=draw_seed(call.generator) if call.dropout else 0,
        rows_at_once=max(1, NUMBERS_AT_ONCE // (call.batch_shape.numel() * max(num_keys, gathered))),
        softcap=call.softcap,
    )


def leaf(tensor: Tensor) -> Tensor:
    """Where a block's backward pass ends: the tensor itself only on the way to a second derivative."""
    again = torch.is_grad_enabled() and tensor.requires_grad
    return tensor if again else tensor.detach().requires_grad_()


# Gathering moves memory, a product with all keys is arithmetic: measured, they cost the same at about this share.
GATHER_ONE_OF = 16


def refuses(call: AttentionCall) -> str | None:
    """Why a call cannot be served by blocks of queries, or None."""
    if is_transformed():
        return REASON
    if torch.compiler.is_compiling():
        return "how many keys a block keeps depends on the data, which torch.compile cannot follow"
    if not call.pattern.serves_rows():
        return f"the pattern defines no keep_rows: {call.pattern}"
    if 0 in (*call.batch_shape, call.query.shape[-2], *call.value.shape[-2:]):
        return "an empty batch or sequence"
    if is_dispatched(call.query, call.key, call.value) and _bound(call) is not None:
        return "which keys are gathered depends on the data, which a trace of the operations cannot follow"
    return None


def blockwise_attention(call: AttentionCall) -> Tensor:
    """Output (..., Lq, dv) of a call that is not refused."""
    num_kept = _bound(call)
    chunks = chunks_of(call, num_kept)
    query, key, value = (_three(tensor, call.batch_shape) for tensor in (call.query, call.key, call.value))
    if num_kept is not None:
        output = gathered_attention(query, key, value, call.mask, chunks, num_kept)
    elif chunks.rows_at_once >= chunks.num_queries:
        # All of it is one block, which nothing need be computed twice for.
        with without_autocast(query.device):
            output = _attend(query, key, value, call.bias, call.mask, chunks, next(chunks.blocks()))
    else:
        output = _Recomputed.apply(query, key, value, call.bias, call.mask, chunks)
    return output.to(call.query.dtype).view(*call.batch_shape, *output.shape[-2:])


def _bound(call: AttentionCall) -> int | None:
    """How many keys are gathered for each query, or None where products with all keys are faster."""
    assert isinstance(call.pattern, PatternByRows)
    most, num_keys = call.pattern.most_kept(), call.key.shape[-2]
    if call.is_changed:
        return None
    return most if most is not None and most * GATHER_ONE_OF <= num_keys else None


def _three(tensor: Tensor, batch_shape: torch.Size) -> Tensor:
    """(batch, length, features), contiguous, so that products sum in one order whatever the layout."""
    last = tensor.shape[-2:]
    return at_least_float32(tensor).expand(*batch_shape, *last).reshape(-1, *last).contiguous()


class _Recomputed(torch.autograd.Function):
    """Saved are the inputs alone; the backward pass computes each block again."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        bias: Tensor | None,
        mask: Tensor | None,
        chunks: Chunks,
    ) -> Tensor:
        ctx.save_for_backward(query, key, value, bias, mask)
        ctx.chunks = chunks
        output = query.new_empty(*query.shape[:-1], value.shape[-1])
        with without_autocast(query.device):
            for rows in chunks.blocks():
                block = slice(rows.first, rows.stop)
                output[:, block] = _attend(
                    query[:, block], key, value, _rows_of(bias, block), mask, chunks, rows
                )
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        query, key, value, bias, mask = ctx.saved_tensors
        again = torch.is_grad_enabled()
        grad_query = torch.empty_like(query)
        grad_key, grad_value = torch.zeros_like(key), torch.zeros_like(value)
        grad_bias = torch.zeros_like(bias) if ctx.needs_input_grad[3] else None
        with without_autocast(query.device):
            for rows in ctx.chunks.blocks():
                block = slice(rows.first, rows.stop)
                first, second, third = leaf(query[:, block]), leaf(key), leaf(value)
                tensors = [first, second, third]
                own_bias = _rows_of(bias, block)
                if grad_bias is not None:
                    own_bias = leaf(own_bias)
                    tensors.append(own_bias)
                with torch.enable_grad():
                    output = _attend(first, second, third, own_bias, mask, ctx.chunks, rows)
                    gradients = torch.autograd.grad(
                        output, tensors, grad_output[:, block], create_graph=again
                    )
                grad_query[:, block] = gradients[0]
                grad_key += gradients[1]
                grad_value += gradients[2]
                if grad_bias is not None:
                    _rows_of(grad_bias, block).add_(gradients[3])
        return grad_query, grad_key, grad_value, grad_bias, None, None


@overload
def _rows_of(bias: Tensor, block: slice) -> Tensor: ...
@overload
def _rows_of(bias: None, block: slice) -> None: ...
def _rows_of(bias: Tensor | None, block: slice) -> Tensor | None:
    """Those of a block of queries, or the one that all share."""
    return bias if bias is None or bias.shape[-2] == 1 else bias[..., block, :]


def _attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    chunks: Chunks,
    rows: QueryRows,
) -> Tensor:
    """Output (batch, rows, dv) of a block of queries (batch, rows, d), whose rows of the bias are given."""
    allowed = chunks.allowed(rows, mask, query.device)
    scores = allowed_scores(query, key, chunks.scale, allowed, lambda scores: chunks.change(scores, bias))
    with torch.no_grad():
        kept = chunks.pattern.keep_rows(scores, allowed, rows) & allowed
    has_nan = rows_with_nan(scores)
    weights = softmax_over_kept(scores, kept, has_nan)
    numbers = rows.numbers(query.shape[:1], query.device)
    weights = chunks.drop(weights, numbers, torch.arange(chunks.num_keys, device=query.device))
    return sum_of_kept(weights, kept, value, has_nan)


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
                output[:, block] = _attend_gathered(scores, gathered, block_indices, spoilt, chunks, rows)
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
                    output = _attend_gathered(scores, tensors[2], block_indices, spoilt, chunks, rows)
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


def _attend_gathered(
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
