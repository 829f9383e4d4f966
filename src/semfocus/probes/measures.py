"""How a view of a trace gives the values of each quantity."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor, nn

from semfocus.mechanisms import AttentionTrace
from semfocus.probes.names import NAMES, Quantity
from semfocus.probes.quantities.focus import focus_chance, focus_mass, focus_share
from semfocus.probes.quantities.keys import (
    key_degree,
    key_load,
    largest_key_load,
    largest_received_mass,
    num_kept,
    received_mass,
    retained_mass,
)
from semfocus.probes.quantities.local_lipschitz import (
    attended_diameter,
    lambda_w_diameter,
    lambda_w_local,
    lambda_w_worst,
)
from semfocus.probes.quantities.scores import dispersion, dispersion_ratio, separation, separation_ratio
from semfocus.probes.quantities.tokens import covariance_norm, token_norm
from semfocus.probes.quantities.weight_norms import value_matrices
from semfocus.probes.quantities.weights import (
    effective_keys,
    entropy,
    norm_11,
    norm_22,
    norm_22_upper,
    norm_frobenius,
    norm_inf1,
    participation,
)
from semfocus.probes.sequences import QueryPlaces


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


_MEASURES: dict[str, Callable[[View], Tensor]] = {
    "dispersion": lambda v: dispersion(v.trace),
    "dispersion_ratio": lambda v: dispersion_ratio(v.trace),
    "separation": lambda v: separation(v.trace),
    "separation_ratio": lambda v: separation_ratio(v.trace),
    "key_load": lambda v: key_load(v.trace, v.counted_queries),
    "key_degree": lambda v: key_degree(v.trace, v.counted_queries),
    "largest_key_load": lambda v: largest_key_load(v.trace, v.counted_queries),
    "received_mass": lambda v: received_mass(v.trace, v.counted_queries),
    "largest_received_mass": lambda v: largest_received_mass(v.trace, v.counted_queries),
    "retained_mass": lambda v: retained_mass(v.trace),
    "num_kept": lambda v: num_kept(v.trace),
    "entropy": lambda v: entropy(v.trace),
    "effective_keys": lambda v: effective_keys(v.trace),
    "participation": lambda v: participation(v.trace),
    "jacobian_11": lambda v: norm_11(v.trace),
    "jacobian_22": lambda v: norm_22(v.trace),
    "jacobian_22_upper": lambda v: norm_22_upper(v.trace),
    "jacobian_inf1_low": lambda v: norm_inf1(v.trace)[0],
    "jacobian_inf1_high": lambda v: norm_inf1(v.trace)[1],
    "jacobian_frobenius": lambda v: norm_frobenius(v.trace),
    "token_norm": lambda v: token_norm(v.trace),
    "attended_covariance": lambda v: covariance_norm(v.trace, v.sample),
    "attended_diameter": lambda v: v.diameter,
    "lambda_w_local": lambda v: v.lambda_w,
    "lambda_w_ratio": lambda v: v.lambda_w / lambda_w_worst(v.trace, v.value, v.sample, v.counted),
    "lambda_w_diameter": lambda v: v.lambda_w_diameter,
    "focus_mass": lambda v: focus_mass(v.trace, v.relevant_keys),
    "focus_share": lambda v: focus_share(v.trace, v.relevant_keys),
    "focus_chance": lambda v: focus_chance(v.trace, v.relevant_keys),
}

QUANTITIES: Mapping[str, Quantity] = {
    name: replace(each, measure=_MEASURES.get(name)) for name, each in NAMES.items()
}
