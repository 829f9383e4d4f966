"""Patterns that choose keys by their scores: the paper's heavy hitters, and their opposite."""

from dataclasses import dataclass

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
