"""What a pattern is: a value that says which of the allowed keys each query keeps."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from semfocus.notation import Notation
from semfocus.randomness import Seed

Family = Literal["full", "input-agnostic", "input-dependent", "control"]


class Pattern(Notation, ABC):
    """A frozen dataclass with a `name`; a new mechanism is a subclass with one method, `keep`.

    (Or, to be served without a matrix of all scores, a subclass of `PatternByRows` with `keep_rows`.)

    `scores` is (..., Lq, Lk); `allowed` is bool and broadcastable to it (True = may attend). The
    result is bool, broadcastable to `scores`, and True only where `allowed` is. Query i stands at
    position Lk - Lq + i. `keep` runs without gradients: the selection is piecewise constant.
    """

    family: Family

    def global_tokens(self) -> int:
        """How many global tokens the pattern wants at the end of the sequence."""
        return 0

    @abstractmethod
    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """Which keys each query keeps, among the allowed ones."""

    def serves_rows(self) -> bool:
        """Whether a block of rows can be decided about without the others, by `keep_rows`."""
        return False


@dataclass(frozen=True)
class QueryRows:
    """The queries first, ..., stop - 1 of a call, with all that their place in the whole decides."""

    first: int
    stop: int
    num_queries: int
    num_keys: int
    seed: Seed | None = None

    def positions(self, device: torch.device) -> Tensor:
        """Positions of these queries among the keys, as a column."""
        return query_positions(self.num_queries, self.num_keys, device)[self.first : self.stop]

    def numbers(self, leading: torch.Size, device: torch.device) -> Tensor:
        """These rows counted over the whole call, as draws need them: (*leading, rows, 1)."""
        before = torch.arange(leading.numel(), device=device).view(*leading, 1, 1) * self.num_queries
        return before + torch.arange(self.first, self.stop, device=device).unsqueeze(-1)


class PatternByRows(Pattern):
    """A pattern that can be asked about a block of queries alone."""

    @abstractmethod
    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        """`keep` for these queries alone: `scores` (..., rows, Lk), `allowed` broadcastable to it."""

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        num_queries, num_keys = scores.shape[-2:]
        rows = QueryRows(0, num_queries, num_queries, num_keys, self.selection_seed(generator))
        return self.keep_rows(scores, allowed, rows)

    def serves_rows(self) -> bool:
        # A subclass that changes `keep` has said nothing about its blocks.
        return type(self).keep is PatternByRows.keep

    def selection_seed(self, generator: torch.Generator | None) -> Seed | None:
        """The seed of one call's choices, drawn only by a pattern that chooses at random."""
        return None

    def most_kept(self) -> int | None:
        """How many keys a query keeps at most, where a pattern has such a bound."""
        return None


def query_positions(num_queries: int, num_keys: int, device: torch.device) -> Tensor:
    """Positions of the queries among the keys, as a column: the last query stands at the last key."""
    return torch.arange(num_keys - num_queries, num_keys, device=device).unsqueeze(-1)


def keep_largest(priority: Tensor, allowed: Tensor, num_kept: int) -> Tensor:
    """In each row exactly min(num_kept, allowed) keys of largest priority, ties to the lowest index.

    >>> row = torch.tensor([[1.0, 3.0, 2.0, 3.0, 2.0]])
    >>> keep_largest(row, torch.ones(1, 5, dtype=torch.bool), 3).int().tolist()
    [[0, 1, 1, 1, 0]]
    """
    num_kept = min(num_kept, priority.shape[-1])
    if num_kept == 0:
        return torch.zeros_like(allowed)
    # NaN ranks first, so that a row with a NaN score cannot hide it. Not allowed ranks last.
    ranked = priority.masked_fill(priority.isnan(), torch.inf).masked_fill(~allowed, -torch.inf)
    smallest_kept = ranked.topk(num_kept, dim=-1, sorted=False).values.amin(-1, keepdim=True)
    above = ranked > smallest_kept
    tied = (ranked == smallest_kept) & allowed
    room = num_kept - above.sum(-1, keepdim=True, dtype=torch.int32)
    return above | (tied & (tied.cumsum(-1, dtype=torch.int32) <= room))
