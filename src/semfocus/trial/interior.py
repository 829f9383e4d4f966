"""What may explain a difference: how the attention of a model looks inside, in a few medians."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from semfocus.integrations import apply, restore
from semfocus.mechanisms import AttentionTrace, Full, capture
from semfocus.mechanisms.observation import attention_points
from semfocus.model.evaluation import evaluation_mode
from semfocus.probes import dispersion, effective_keys, num_kept
from semfocus.subjects.batch import NO_TARGET, Batch
from semfocus.subjects.subject import Subject

#: held-out sequences that are measured
SEQUENCES = 8
QUANTITIES = {
    "dispersion": ("score dispersion of kept keys", dispersion),
    "effective_keys": ("effective keys of a query", effective_keys),
    "num_kept": ("keys that a query keeps", num_kept),
}


def measure_inside(subject: Subject, model: nn.Module, batch: Batch) -> dict[str, dict[str, Any]]:
    """For each quantity the median over all queries, and over those of each layer; padding is left out."""
    few = batch.rows(slice(0, SEQUENCES))
    with evaluation_mode(model), _ours(model), torch.no_grad(), capture(model) as traces:
        subject.loss(model, few)
    return {
        name: _medians([_values(measure(each), each, few) for each in traces])
        for name, (_, measure) in QUANTITIES.items()
    }


@contextmanager
def _ours(model: nn.Module) -> Iterator[None]:
    """A model as it came is switched to full attention while one looks: the same up to rounding."""
    if attention_points(model):
        yield
        return
    apply(model, Full())
    try:
        yield
    finally:
        restore(model)


def _values(values: Tensor, trace: AttentionTrace, batch: Batch) -> Tensor:
    real = batch.real
    if batch.targets is not None and "decoder" in trace.name:
        real = batch.targets != NO_TARGET
    if real is not None and trace.scores.shape[0] == len(batch) and trace.scores.shape[-2] == real.shape[1]:
        mask = real.view(len(batch), *[1] * (values.dim() - 2), real.shape[1]).expand_as(values)
        values = values[mask]
    return values[torch.isfinite(values)].double()


def _medians(layers: list[Tensor]) -> dict[str, Any]:
    there = [each for each in layers if len(each.flatten())]
    if not there:
        return {"median": None, "layers": []}
    return {
        "median": float(torch.cat([each.flatten() for each in there]).median()),
        "layers": [float(each.median()) if each.numel() else None for each in layers],
    }
