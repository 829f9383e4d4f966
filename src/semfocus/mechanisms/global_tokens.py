"""Global tokens: the last positions attend to everything, and everything attends to them."""

from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import Family, Pattern


@dataclass(frozen=True)
class WithGlobals(Pattern):
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

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        num_queries, num_keys = scores.shape[-2:]
        queries = slice(0, max(num_queries - self.num_globals, 0))
        keys = slice(0, max(num_keys - self.num_globals, 0))
        if queries.stop == 0 or keys.stop == 0:
            return allowed
        ordinary = self.base.keep(scores[..., queries, keys], allowed[..., queries, keys], generator)
        leading = torch.broadcast_shapes(ordinary.shape[:-2], allowed.shape[:-2])
        kept = allowed.expand(*leading, num_queries, num_keys).clone()
        kept[..., queries, keys] = ordinary
        return kept
