"""Patterns that never look at the scores: full, banded, block-local, random."""

from abc import abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import Family, Pattern, keep_largest, query_positions


class InputAgnostic(Pattern):
    """A pattern of positions only: its method does not even receive the scores."""

    family: Family = "input-agnostic"

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.keep_positions(allowed)

    @abstractmethod
    def keep_positions(self, allowed: Tensor) -> Tensor:
        """Which keys each query keeps; `allowed` is (..., Lq, Lk)."""


@dataclass(frozen=True)
class Full(InputAgnostic):
    """Every allowed key: the baseline."""

    name = "full"
    family = "full"

    def keep_positions(self, allowed: Tensor) -> Tensor:
        return allowed


@dataclass(frozen=True)
class Banded(InputAgnostic):
    """The `width` allowed keys nearest to the query, ties to the right.

    Centred inside, shifted inward at the edges, a sliding window under a causal mask:

    >>> allowed = torch.ones(5, 5, dtype=torch.bool)
    >>> Banded(3).keep_positions(allowed).int().tolist()
    [[1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [0, 0, 1, 1, 1], [0, 0, 1, 1, 1]]
    >>> Banded(2).keep_positions(allowed.tril()).int().tolist()
    [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 1, 1]]
    """

    width: int

    name = "banded"

    def validate(self) -> None:
        self.require_at_least("width", 1)

    def keep_positions(self, allowed: Tensor) -> Tensor:
        offset = _key_offsets(allowed)
        # Steps from the query in the order 0, right 1, left 1, right 2, left 2, ...: no two keys tie.
        steps = 2 * offset.abs() - (offset > 0).long()
        return keep_largest(-steps.float(), allowed, self.width)


@dataclass(frozen=True)
class BlockLocal(InputAgnostic):
    """The allowed keys of the query's own block of `size` positions; the last block may be shorter.

    >>> BlockLocal(2).keep_positions(torch.ones(3, 3, dtype=torch.bool)).int().tolist()
    [[1, 1, 0], [1, 1, 0], [0, 0, 1]]
    """

    size: int

    name = "block_local"

    def validate(self) -> None:
        self.require_at_least("size", 1)

    def keep_positions(self, allowed: Tensor) -> Tensor:
        num_queries, num_keys = allowed.shape[-2:]
        query_block = query_positions(num_queries, num_keys, allowed.device) // self.size
        key_block = torch.arange(num_keys, device=allowed.device) // self.size
        return allowed & (query_block == key_block)


@dataclass(frozen=True)
class Random(Pattern):
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

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        if self.fixed:
            priority = _position_noise(allowed)
        else:
            source = generator.device if generator is not None else scores.device
            priority = torch.rand(scores.shape, generator=generator, device=source).to(scores.device)
        return keep_largest(priority, allowed, self.k)


def _key_offsets(allowed: Tensor) -> Tensor:
    """Key position minus query position, (Lq, Lk)."""
    num_queries, num_keys = allowed.shape[-2:]
    keys = torch.arange(num_keys, device=allowed.device)
    return keys - query_positions(num_queries, num_keys, allowed.device)


def _position_noise(allowed: Tensor) -> Tensor:
    """A number in [0, 1) for each (query position, key position): a 32-bit mixing function of the two."""
    num_queries, num_keys = allowed.shape[-2:]
    queries = query_positions(num_queries, num_keys, allowed.device)
    keys = torch.arange(num_keys, device=allowed.device)
    mixed = (queries * 0x9E3779B1 + keys * 0x85EBCA77 + 0x165667B1) & 0xFFFFFFFF
    for _ in range(2):
        mixed = ((mixed ^ (mixed >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    mixed = mixed ^ (mixed >> 16)
    return (mixed >> 8).float() / 2**24
