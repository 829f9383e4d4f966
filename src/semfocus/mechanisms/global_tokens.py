"""Global tokens: the last positions attend to everything, and everything attends to them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import Family, Pattern, PatternByRows, QueryRows
from semfocus.randomness import Seed


@dataclass(frozen=True)
class WithGlobals(PatternByRows):
    """`base` on the ordinary positions; the last `num_globals` queries and keys are global.

    A global query keeps every allowed key; every query keeps every allowed global key, beside what
    `base` keeps (with TopK: attention sinks). The mask always wins.
    """

    base: Pattern
    num_globals: int

    name = "with_globals"

    def __post_init__(self) -> None:
        if not isinstance(self.base, Pattern):
            raise ValueError(f"+G: the base must be a pattern, got {self.base!r}")
        if isinstance(self.base, WithGlobals):
            raise ValueError(f"+G: global tokens cannot be nested, got {self.base} as the base")
        if type(self.num_globals) is not int:
            raise ValueError(f"+G: num_globals must be an integer, got {self.num_globals!r}")
        self.require_at_least("num_globals", 1)

    def __str__(self) -> str:
        return f"{self.base}+G{self.num_globals}"

    @property
    def family(self) -> Family:  # type: ignore[override]  # it is the base pattern's
        return self.base.family

    def global_tokens(self) -> int:
        return self.num_globals

    def serves_rows(self) -> bool:
        return self.base.serves_rows()

    def selection_seed(self, generator: torch.Generator | None) -> Seed | None:
        return self.base.selection_seed(generator) if isinstance(self.base, PatternByRows) else None

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        if self.serves_rows():
            return super().keep(scores, allowed, generator)
        rows = QueryRows(0, scores.shape[-2], *scores.shape[-2:])
        return self._beside_globals(
            scores, allowed, rows, lambda scores, allowed, rows: self.base.keep(scores, allowed, generator)
        )

    def keep_rows(self, scores: Tensor, allowed: Tensor, rows: QueryRows) -> Tensor:
        assert isinstance(self.base, PatternByRows)
        return self._beside_globals(scores, allowed, rows, self.base.keep_rows)

    def _beside_globals(
        self,
        scores: Tensor,
        allowed: Tensor,
        rows: QueryRows,
        keep: Callable[[Tensor, Tensor, QueryRows], Tensor],
    ) -> Tensor:
        """Every allowed key, except that `keep` decides between ordinary queries and ordinary keys."""
        num_queries = max(rows.num_queries - self.num_globals, 0)
        num_keys = max(rows.num_keys - self.num_globals, 0)
        if rows.first >= num_queries or num_keys == 0:
            return allowed
        # For the base, the ordinary positions are the whole problem.
        ordinary = QueryRows(rows.first, min(rows.stop, num_queries), num_queries, num_keys, rows.seed)
        queries, keys = slice(0, ordinary.stop - ordinary.first), slice(0, num_keys)
        chosen = keep(scores[..., queries, keys], allowed[..., queries, keys], ordinary)
        leading = torch.broadcast_shapes(chosen.shape[:-2], allowed.shape[:-2])
        others = allowed.expand(*leading, *scores.shape[-2:])
        # Not written in place: under vmap, `chosen` may have a dimension that `allowed` lacks.
        first = torch.cat([chosen.expand(*leading, *chosen.shape[-2:]), others[..., queries, num_keys:]], -1)
        return torch.cat([first, others[..., queries.stop :, :]], -2)
