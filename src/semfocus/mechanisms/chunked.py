"""Attention in plain PyTorch on any device, without a matrix of all queries by all keys."""

from typing import Any

import torch
from torch import Tensor

from semfocus.mechanisms.autocast import without_autocast
from semfocus.mechanisms.call import AttentionCall
from semfocus.mechanisms.chunks import Chunks, chunks_of, leaf
from semfocus.mechanisms.gathered import gathered_attention
from semfocus.mechanisms.pattern import PatternByRows, QueryRows
from semfocus.mechanisms.reference import (
    allowed_scores,
    at_least_float32,
    rows_with_nan,
    softmax_over_kept,
    sum_of_kept,
)
from semfocus.mechanisms.transforms import REASON, is_dispatched, is_transformed

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


def chunked_attention(call: AttentionCall) -> Tensor:
    """Output (..., Lq, dv) of a call that is not refused."""
    num_kept = _bound(call)
    chunks = chunks_of(call, num_kept)
    query, key, value = (_three(tensor, call.batch_shape) for tensor in (call.query, call.key, call.value))
    if num_kept is not None:
        output = gathered_attention(query, key, value, call.mask, chunks, num_kept)
    elif chunks.rows_at_once >= chunks.num_queries:
        # All of it is one block, which nothing need be computed twice for.
        with without_autocast(query.device):
            output = _attend(query, key, value, call.mask, chunks, next(chunks.blocks()))
    else:
        output = _Recomputed.apply(query, key, value, call.mask, chunks)
    return output.to(call.query.dtype).view(*call.batch_shape, *output.shape[-2:])


def _bound(call: AttentionCall) -> int | None:
    """How many keys are gathered for each query, or None where products with all keys are faster."""
    assert isinstance(call.pattern, PatternByRows)
    most, num_keys = call.pattern.most_kept(), call.key.shape[-2]
    return most if most is not None and most * GATHER_ONE_OF <= num_keys else None


def _three(tensor: Tensor, batch_shape: torch.Size) -> Tensor:
    """(batch, length, features), contiguous, so that products sum in one order whatever the layout."""
    last = tensor.shape[-2:]
    return at_least_float32(tensor).expand(*batch_shape, *last).reshape(-1, *last).contiguous()


class _Recomputed(torch.autograd.Function):
    """Saved are the inputs alone; the backward pass computes each block again."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, chunks: Chunks
    ) -> Tensor:
        ctx.save_for_backward(query, key, value, mask)
        ctx.chunks = chunks
        output = query.new_empty(*query.shape[:-1], value.shape[-1])
        with without_autocast(query.device):
            for rows in chunks.blocks():
                block = slice(rows.first, rows.stop)
                output[:, block] = _attend(query[:, block], key, value, mask, chunks, rows)
        return output

    @staticmethod
    def backward(ctx: Any, grad_output: Tensor) -> tuple[Any, ...]:
        query, key, value, mask = ctx.saved_tensors
        again = torch.is_grad_enabled()
        grad_query = torch.empty_like(query)
        grad_key, grad_value = torch.zeros_like(key), torch.zeros_like(value)
        with without_autocast(query.device):
            for rows in ctx.chunks.blocks():
                block = slice(rows.first, rows.stop)
                tensors = leaf(query[:, block]), leaf(key), leaf(value)
                with torch.enable_grad():
                    output = _attend(*tensors, mask, ctx.chunks, rows)
                    gradients = torch.autograd.grad(
                        output, tensors, grad_output[:, block], create_graph=again
                    )
                grad_query[:, block] = gradients[0]
                grad_key += gradients[1]
                grad_value += gradients[2]
        return grad_query, grad_key, grad_value, None, None


def _attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, chunks: Chunks, rows: QueryRows
) -> Tensor:
    """Output (batch, rows, dv) of a block of queries (batch, rows, d)."""
    allowed = chunks.allowed(rows, mask, query.device)
    scores = allowed_scores(query, key, chunks.scale, allowed)
    with torch.no_grad():
        kept = chunks.pattern.keep_rows(scores, allowed, rows) & allowed
    has_nan = rows_with_nan(scores)
    weights = softmax_over_kept(scores, kept, has_nan)
    numbers = rows.numbers(query.shape[:1], query.device)
    weights = chunks.drop(weights, numbers, torch.arange(chunks.num_keys, device=query.device))
    return sum_of_kept(weights, kept, value, has_nan)
