"""Patterns that never look at the scores: full, banded, block-local."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import Family, PatternByRows, QueryRows, keep_largest


class InputAgnostic(PatternByRows):
    """A pattern of positions only: its method does not even receive the scores."""

    family: Family = "input-agnostic"

    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        return self.keep_positions(allowed, rows)

    @abstractmethod
    def keep_positions(self, allowed: Tensor, rows: QueryRows) -> Tensor:
        """Which keys each of these queries keeps; `allowed` is broadcastable to (..., rows, Lk)."""


@dataclass(frozen=True)
class Full(InputAgnostic):
    """Every allowed key: the baseline."""

    name = "full"
    family = "full"

    def keep_positions(self, allowed: Tensor, rows: QueryRows) -> Tensor:
        return allowed


@dataclass(frozen=True)
class Banded(InputAgnostic):
    """The `width` allowed keys nearest to the query, ties to the right.

    Centred inside, shifted inward at the edges, a sliding window under a causal mask:

    >>> scores, allowed = torch.zeros(5, 5), torch.ones(5, 5, dtype=torch.bool)
    >>> Banded(3).keep(scores, allowed).int().tolist()
    [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 1]]
    >>> Banded(2).keep(scores, allowed.tril()).int().tolist()
    [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
    """

    width: int

    name = "banded"

    def validate(self) -> None:
        self.require_at_least("width", 1)

    def most_kept(self) -> int:
        return self.width

    def keep_positions(self, allowed: Tensor, rows: QueryRows) -> Tensor:
        offset = torch.arange(rows.num_keys, device=allowed.device) - rows.positions(allowed.device)
        # Steps from the query in the order 0, right 1, left 1, right 2, left 2, ...: no two keys tie.
        steps = 2 * offset.abs() - (offset > 0).long()
        return keep_largest(-steps.float(), allowed, self.width)


@dataclass(frozen=True)
class BlockLocal(InputAgnostic):
    """The allowed keys of the query's own block of `size` positions; the last block may be shorter.

    >>> BlockLocal(2).keep(torch.zeros(3, 3), torch.ones(3, 3, dtype=torch.bool)).int().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """

    size: int

    name = "block_local"

    def validate(self) -> None:
        self.require_at_least("size", 1)

    def most_kept(self) -> int:
        return self.size

    def keep_positions(self, allowed: Tensor, rows: QueryRows) -> Tensor:
        # Larger sizes mean the same, and would not fit the integers of a tensor.
        size = min(self.size, rows.num_queries + rows.num_keys)
        query_block = rows.positions(allowed.device) // size
        key_block = torch.arange(rows.num_keys, device=allowed.device) // size
        return allowed & (query_block == key_block)
