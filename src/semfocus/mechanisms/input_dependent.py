"""Patterns that choose keys by their scores: the paper's heavy hitters, by number or by mass."""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import PatternByRows, QueryRows, keep_largest


@dataclass(frozen=True)
class TopK(PatternByRows):
    """The `k` allowed keys with the highest scores, exactly min(k, allowed), ties to the lowest index.

    >>> import torch
    >>> TopK(2).keep(torch.tensor([[1.0, 4.0, 4.0, 4.0]]), torch.ones(1, 4, dtype=torch.bool)).int().tolist()
    [[0, 1, 1, 0]]
    """

    k: int

    name = "top_k"
    family = "input-dependent"

    def validate(self) -> None:
        self.require_at_least("k", 1)

    def most_kept(self) -> int:
        return self.k

    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        return keep_largest(scores, allowed, self.k)


# Ten keys of mass 0.1 must count as a mass of 1, although their rounded sum is a little less.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class TopP(PatternByRows):
    """Keys in the order of their scores (ties to the lowest index) until their mass reaches `p`.

    >>> scores = torch.tensor([[0.5, 0.3, 0.2]]).log()
    >>> TopP(0.7).keep(scores, torch.ones(1, 3, dtype=torch.bool)).int().tolist()
    [[1, 1, 0]]
    """

    p: float

    name = "top_p"
    family = "input-dependent"

    def validate(self) -> None:
        if not 0.0 < self.p <= 1.0:
            raise ValueError(f"top_p: p must be above 0 and at most 1, got {self.p}")

    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        if self.p == 1.0:  # a rounded sum may reach 1 before the last key
            return allowed
        ranked, order = scores.masked_fill(~allowed, -torch.inf).sort(dim=-1, descending=True, stable=True)
        # The next key is needed while the mass so far is below p; the heaviest one always is.
        needed = ranked.double().softmax(-1).cumsum(-1) < self.p - _ROUNDING
        within = torch.cat([torch.ones_like(needed[..., :1]), needed[..., :-1]], dim=-1)
        kept = torch.zeros_like(within).scatter(-1, order, within)
        return kept & allowed
