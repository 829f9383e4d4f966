"""Patterns that never look at the scores: full, banded, block-local, random."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import Family, PatternByRows, QueryRows, keep_largest
from semfocus.randomness import Seed, draw_seed, draws


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


@dataclass(frozen=True)
class Random(PatternByRows):
    """`k` distinct allowed keys at random: per batch row, head and query, anew in every call.

    With `fixed`, the draw depends on nothing but the two positions: the same keys in every call,
    row and head, whatever the generator.
    """

    k: int
    fixed: bool = False

    name = "random"
    family = "control"

    def validate(self) -> None:
        self.require_at_least("k", 1)

    def most_kept(self) -> int:
        return self.k

    def selection_seed(self, generator: torch.Generator | None) -> Seed | None:
        return None if self.fixed else draw_seed(generator)

    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        if self.fixed:
            return keep_largest(_position_noise(rows, allowed.device), allowed, self.k)
        assert rows.seed is not None
        numbers = rows.numbers(scores.shape[:-2], scores.device)
        return keep_drawn(rows.seed, numbers, allowed.expand(scores.shape), self.k)


def keep_drawn(seed: Seed, rows: Tensor, allowed: Tensor, num_kept: int) -> Tensor:
    """In each row min(num_kept, allowed) distinct keys, each set equally likely: a function of seed and row.

    Floyd's method on the ranks of the allowed keys: the i-th draw is uniform up to a limit that grows by
    one; a rank that is already taken gives way to the limit itself.
    """
    choices = allowed.sum(-1, keepdim=True)
    rank = allowed.cumsum(-1) - 1
    kept = torch.zeros_like(allowed)
    num_kept = min(num_kept, allowed.shape[-1])
    taken = torch.full((*allowed.shape[:-1], num_kept), -1, device=allowed.device)
    for place in range(num_kept):
        limit = choices - choices.clamp(max=num_kept) + place
        drawn = (draws(seed, rows, torch.tensor(place, device=allowed.device)) * (limit + 1)) >> 32
        drawn = torch.where((taken == drawn).any(-1, keepdim=True), limit, drawn)
        taken[..., place : place + 1] = drawn
        kept |= rank == drawn
    return kept & allowed


def _position_noise(rows: QueryRows, device: torch.device) -> Tensor:
    """A number in [0, 1) for each (query position, key position): a 32-bit mixing function of the two."""
    keys = torch.arange(rows.num_keys, device=device)
    mixed = (rows.positions(device) * 0x9E3779B1 + keys * 0x85EBCA77 + 0x165667B1) & 0xFFFFFFFF
    for _ in range(2):
        mixed = ((mixed ^ (mixed >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    mixed = mixed ^ (mixed >> 16)
    return (mixed >> 8).float() / 2**24
