"""The values of quantities over a data set, chunk by chunk, each pattern beside the model's own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from semfocus.mechanisms import AttentionTrace, Pattern
from semfocus.model import Classifier
from semfocus.probes.measures import View
from semfocus.probes.names import NOISE_SIZES, Quantity, agreement_name
from semfocus.probes.noise import noisy_embedding
from semfocus.probes.quantities.gradient_norms import Loss, mean_gradient_norms, sample_gradient_norms
from semfocus.probes.quantities.keys import mask_agreement
from semfocus.probes.quantities.scores import average_slope, gap_density_of
from semfocus.probes.quantities.weight_norms import weight_norms
from semfocus.probes.sequences import (
    QueryPlaces,
    Sequences,
    attentions_of,
    num_globals_of,
    sample_queries,
    spread,
    traces_of,
)
from semfocus.probes.summary import Summary
from semfocus.probes.traces import counterfactual, gaussian_twin
from semfocus.randomness import stream

#: values held by all summaries together, 8 bytes each; beyond it the largest summary is thinned
VALUES_HELD = 2**26
#: queries of each layer and head for which expensive quantities are computed
NUM_QUERIES = 256


@dataclass(frozen=True)
class Selection:
    """A pattern on the model's scores; the model's own selection where it is not counterfactual."""

    pattern: Pattern | None
    is_counterfactual: bool

    @property
    def name(self) -> str:
        return "unknown" if self.pattern is None else str(self.pattern)

    def on(self, trace: AttentionTrace, part: Sequences, num_globals: int, seed: int) -> AttentionTrace:
        """What this pattern keeps; random ones draw the same for the same chunk, with noise or without."""
        if not self.is_counterfactual:
            return trace
        assert self.pattern is not None
        generator = stream(
            seed, f"counterfactual/{self.pattern}/{trace.layer}", part.first, trace.scores.device
        )
        return counterfactual(trace, self.pattern, num_globals=num_globals, generator=generator)


@dataclass(frozen=True)
class ValuePlace:
    """Where values belong; without layer and head, all of them together."""

    quantity: str
    arm: Selection
    layer: int | None = None
    head: int | None = None


class Collector:
    """A summary for each place."""

    def __init__(self, values_held: int = VALUES_HELD) -> None:
        self.values_held = values_held
        self.summaries: dict[ValuePlace, Summary] = {}

    def add(self, place: ValuePlace, values: Tensor) -> None:
        self.summaries.setdefault(place, Summary()).add(values)

    def add_both(self, place: ValuePlace, values: Tensor) -> None:
        """To the place, and to that of all layers and heads."""
        self.add(place, values)
        self.add(ValuePlace(place.quantity, place.arm), values)

    def thin(self) -> None:
        """Keep to the number of values that may be held."""
        while sum(each.num_held for each in self.summaries.values()) > self.values_held:
            max(self.summaries.values(), key=lambda each: each.num_held).thin()


@dataclass(frozen=True)
class TraceProbe:
    """What to measure, under which patterns, on which model."""

    model: nn.Module
    quantities: Sequence[Quantity]
    arms: Sequence[Selection]
    seed: int

    def collect(self, data: Sequences, chunk: int, collector: Collector, *, twin: bool = False) -> None:
        """Run the model over the data, `chunk` sequences at a time; with `twin`, on Gaussian scores instead."""
        sample = sample_queries(self._counted(data), NUM_QUERIES, self.seed)
        for part in data.chunks(chunk):
            self._collect_part(part, sample.between(part.first, part.first + len(part)), collector, twin)
            collector.thin()

    def _collect_part(self, part: Sequences, sample: QueryPlaces, collector: Collector, twin: bool) -> None:
        counted = self._counted(part)
        relevant = None
        if part.relevant is not None:
            relevant = spread(self.model, part.relevant, part.tokens, for_globals=False)
        traces = traces_of(self.model, part, self.seed)
        attentions = attentions_of(self.model)
        for trace in traces:
            _check_length(trace, counted)
            scores = gaussian_twin(trace, part.first, self.seed) if twin else trace
            for arm in self.arms:
                seen = arm.on(scores, part, num_globals_of(self.model), self.seed)
                view = View(seen, counted, relevant, attentions[trace.layer], sample)
                self._measure(view, arm, collector)
        for size in NOISE_SIZES:
            if not twin and any(each.name == agreement_name(size) for each in self.quantities):
                self._compare(size, part, traces, counted, collector)

    def _measure(self, view: View, arm: Selection, collector: Collector) -> None:
        for quantity in self.quantities:
            if quantity.measure is None or (arm.is_counterfactual and not quantity.of_pattern):
                continue
            if quantity.sampled and not len(view.sample):
                continue
            values = quantity.measure(view)
            for head, part in _by_head(quantity, values, view.counted):
                collector.add_both(ValuePlace(quantity.name, arm, view.trace.layer, head), part)

    def _compare(
        self,
        size: float,
        part: Sequences,
        traces: list[AttentionTrace],
        counted: Tensor,
        collector: Collector,
    ) -> None:
        with noisy_embedding(self.model, size, counted, part.first, self.seed):
            noisy = traces_of(self.model, part, self.seed)
        num_globals = num_globals_of(self.model)
        for trace, other in zip(traces, noisy, strict=True):
            for arm in self.arms:
                pair = (arm.on(each, part, num_globals, self.seed) for each in (trace, other))
                values = mask_agreement(*pair)
                for head in range(values.shape[1]):
                    place = ValuePlace(agreement_name(size), arm, trace.layer, head)
                    collector.add_both(place, values[:, head][counted])

    def _counted(self, data: Sequences) -> Tensor:
        return spread(self.model, data.padding, data.tokens, for_globals=True)


def _by_head(quantity: Quantity, values: Tensor, counted: Tensor) -> Iterator[tuple[int | None, Tensor]]:
    """The values that count, of each head in turn; those of tokens have none."""
    if values.dim() == 2 and quantity.per == "key":
        yield None, values[counted]
        return
    for head in range(values.shape[1]):
        yield head, values[:, head][counted] if values.dim() == 3 else values[:, head]


def _check_length(trace: AttentionTrace, counted: Tensor) -> None:
    if trace.scores.shape[-1] != counted.shape[1]:
        raise ValueError(
            f"layer {trace.layer} ({trace.name}) attends over {trace.scores.shape[-1]} positions, "
            f"the sequences have {counted.shape[1]}"
        )


#: sequences whose own gradients are computed
NUM_GRADIENTS = 64


def add_gaps(wanted: Sequence[Quantity], collector: Collector) -> None:
    """Gap density and average slope from the separations that were collected."""
    names = {each.name for each in wanted if each.parts}
    if not names:
        return
    for place, separations in list(collector.summaries.items()):
        if place.quantity != "separation":
            continue
        density = gap_density_of(separations)
        kept = collector.summaries[ValuePlace("num_kept", place.arm, place.layer, place.head)]
        num = separations.num + separations.num_infinite
        slope = average_slope(density, kept.total / num) if num else torch.nan
        for name, value in (("gap_density", density), ("average_slope", slope)):
            if name in names:
                collector.add(
                    ValuePlace(name, place.arm, place.layer, place.head),
                    torch.tensor(value, dtype=torch.float64),
                )


def add_weights(model: nn.Module, wanted: Sequence[Quantity], own: Selection, collector: Collector) -> None:
    """Spectral norms; those of the MLP have no head."""
    names = {each.name for each in wanted if each.needs == "classifier"}
    if not names:
        return
    assert isinstance(model, Classifier)
    for name, norms in weight_norms(model).items():
        for layer, of_heads in enumerate(norms if name in names else ()):
            for head, norm in enumerate(of_heads):
                is_of_head = name in ("score_norm", "value_norm")
                collector.add_both(ValuePlace(name, own, layer, head if is_of_head else None), norm)


def add_gradients(
    model: nn.Module,
    data: Sequences,
    wanted: Sequence[Quantity],
    own: Selection,
    chunk: int,
    loss: Loss | None,
    collector: Collector,
) -> None:
    """Gradient norms of each group: in all layers together, and in each."""
    names = {each.name for each in wanted if each.needs == "labels"}
    if not names:
        return
    found = {}
    if any(name.startswith("gradient_norm_") for name in names):
        found["gradient_norm"] = sample_gradient_norms(model, data, NUM_GRADIENTS, loss)
    if any(name.startswith("mean_gradient_norm_") for name in names):
        found["mean_gradient_norm"] = mean_gradient_norms(model, data, chunk, loss)
    for kind, by_group in found.items():
        for (group, layer), norms in by_group.items():
            if f"{kind}_{group}" in names:
                collector.add(ValuePlace(f"{kind}_{group}", own, layer), norms)
