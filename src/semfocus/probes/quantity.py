"""What a quantity is: a name, a meaning, and how a view of a trace gives its values."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import torch
from torch import Tensor, nn

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.local_lipschitz import attended_diameter, lambda_w_diameter, lambda_w_local
from semfocus.probes.projections import value_matrices
from semfocus.probes.sampled_queries import QueryPlaces

Per = Literal["query", "key", "head", "model"]


@dataclass(frozen=True)
class View:
    """A trace (batch, heads, L, L) with what quantities need beside it; `counted` and `relevant` are (batch, L)."""

    trace: AttentionTrace
    counted: Tensor
    relevant: Tensor | None
    attention: nn.Module
    sample: QueryPlaces

    @cached_property
    def value(self) -> Tensor:
        """(heads, d, d): the layer's value matrices."""
        return value_matrices(self.attention, bias=False)

    @cached_property
    def lambda_w(self) -> Tensor:
        """Two quantities need it, and it is expensive."""
        return lambda_w_local(self.trace, self.value, self.sample, self.score_clip)

    @property
    def score_clip(self) -> float | None:
        """The c of c tanh(score / c), if the layer clips its scores."""
        return getattr(getattr(self.attention, "config", None), "score_clip", None)

    @property
    def lambda_w_diameter(self) -> Tensor:
        """NaN where scores are clipped: that bound is for plain ones."""
        found = lambda_w_diameter(self.trace, self.value, self.sample, self.diameter)
        return found if self.score_clip is None else torch.full_like(found, torch.nan)

    @cached_property
    def diameter(self) -> Tensor:
        """As expensive, and needed twice."""
        return attended_diameter(self.trace, self.sample)

    @property
    def counted_queries(self) -> Tensor:
        """(batch, 1, L): the same for all heads."""
        return self.counted.unsqueeze(1)

    @property
    def relevant_keys(self) -> Tensor:
        """(batch, 1, 1, L): the same for all heads and queries."""
        assert self.relevant is not None
        return self.relevant[:, None, None, :]


@dataclass(frozen=True)
class Quantity:
    """`per` says what has one value: a query, a key, a head (of one sequence), or the model.

    `measure` gives (batch, heads, L) per query or key, (batch, heads) per head, (queries, heads) for a sample of queries,
    (batch, L) for the tokens, which have no head. Quantities without `measure` are not made of one trace.
    """

    name: str
    meaning: str
    per: Per
    unit: str
    measure: Callable[[View], Tensor] | None = None
    #: a sample of queries, not all
    sampled: bool = False
    #: whether another pattern on the same scores could change it
    of_pattern: bool = True
    #: the value where the scores are noise: "twin" measures it on a Gaussian twin, a name takes that quantity's mean
    null: str | None = None
    #: quantities of a trace whose values it is made of
    parts: tuple[str, ...] = ()
    #: what must be given or known: "relevant", "labels", "projections", "classifier", "embedding"
    needs: str | None = None
