"""Quantities that are no sum over traces: computed once from the model, the loss, or other quantities."""

from collections.abc import Sequence

import torch
from torch import nn

from semfocus.model import Classifier
from semfocus.probes.collect import Arm, Collector, Place
from semfocus.probes.gap_density import average_slope, gap_density_of
from semfocus.probes.gradient_norms import Loss, mean_gradient_norms, sample_gradient_norms
from semfocus.probes.quantity import Quantity
from semfocus.probes.sequences import Sequences
from semfocus.probes.weight_norms import weight_norms

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
        kept = collector.summaries[Place("num_kept", place.arm, place.layer, place.head)]
        num = separations.num + separations.num_infinite
        slope = average_slope(density, kept.total / num) if num else torch.nan
        for name, value in (("gap_density", density), ("average_slope", slope)):
            if name in names:
                collector.add(
                    Place(name, place.arm, place.layer, place.head), torch.tensor(value, dtype=torch.float64)
                )


def add_weights(model: nn.Module, wanted: Sequence[Quantity], own: Arm, collector: Collector) -> None:
    """Spectral norms; those of the MLP have no head."""
    names = {each.name for each in wanted if each.needs == "classifier"}
    if not names:
        return
    assert isinstance(model, Classifier)
    for name, norms in weight_norms(model).items():
        for layer, of_heads in enumerate(norms if name in names else ()):
            for head, norm in enumerate(of_heads):
                is_of_head = name in ("score_norm", "value_norm")
                collector.add_both(Place(name, own, layer, head if is_of_head else None), norm)


def add_gradients(
    model: nn.Module,
    data: Sequences,
    wanted: Sequence[Quantity],
    own: Arm,
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
                collector.add(Place(f"{kind}_{group}", own, layer), norms)
