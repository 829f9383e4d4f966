"""Controls: patterns that keep as many keys as others do, but not the heavy hitters."""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import PatternByRows, QueryRows, keep_largest
from semfocus.randomness import Seed, draw_seed, draws


@dataclass(frozen=True)
class BottomK(PatternByRows):
    """The `k` allowed keys with the lowest scores: a control, input-dependent but no heavy hitters."""

    k: int

    name = "bottom_k"
    family = "control"

    def validate(self) -> None:
        self.require_at_least("k", 1)

    def most_kept(self) -> int:
        return self.k

    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        return keep_largest(-scores, allowed, self.k)


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
    places = torch.arange(num_kept, device=allowed.device)
    for place in range(num_kept):
        limit = choices - choices.clamp(max=num_kept) + place
        drawn = (draws(seed, rows, torch.tensor(place, device=allowed.device)) * (limit + 1)) >> 32
        drawn = torch.where((taken == drawn).any(-1, keepdim=True), limit, drawn)
        taken = torch.where(places == place, drawn, taken)  # not in place: vmap may hand in the seed alone
        kept = kept | (rank == drawn)
    return kept & allowed


def _position_noise(rows: QueryRows, device: torch.device) -> Tensor:
    """A number in [0, 1) for each (query position, key position): a 32-bit mixing function of the two."""
    keys = torch.arange(rows.num_keys, device=device)
    mixed = (rows.positions(device) * 0x9E3779B1 + keys * 0x85EBCA77 + 0x165667B1) & 0xFFFFFFFF
    for _ in range(2):
        mixed = ((mixed ^ (mixed >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    mixed = mixed ^ (mixed >> 16)
    return (mixed >> 8).float() / 2**24
