"""Attention in blocks of queries: how large a block is, and what a block needs to know of the whole call."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.call import AttentionCall, allowed_rows
from semfocus.mechanisms.pattern import PatternByRows, QueryRows
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
    )


def leaf(tensor: Tensor) -> Tensor:
    """Where a block's backward pass ends: the tensor itself only on the way to a second derivative."""
    again = torch.is_grad_enabled() and tensor.requires_grad
    return tensor if again else tensor.detach().requires_grad_()
