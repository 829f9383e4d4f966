"""What a quantity is: a name, a meaning, and how a view of a trace gives its values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from semfocus.mechanisms import AttentionTrace
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
