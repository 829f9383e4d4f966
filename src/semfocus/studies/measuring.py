"""Measuring inside a model: which sequences, which quantities, and rows that any JSON parser reads."""

import copy
import math
from collections.abc import Sequence
from typing import Any

import torch

from semfocus.mechanisms import Pattern
from semfocus.model import Classifier
from semfocus.probes import probe_rows
from semfocus.runs import RunSpec
from semfocus.studies.probe_plan import Part
from semfocus.tasks import Dataset, Samples

Row = dict[str, Any]
PARTS: tuple[Part, ...] = ("train", "held_out")

#: few enough to be measured often and kept in the journal
ALONG_TRAINING = (
    "dispersion",
    "separation",
    "effective_keys",
    "focus_mass",
    "received_mass",
    "lambda_w_local",
    "gradient_norm_query_key",
    "gradient_norm_value_out",
    "mask_agreement_0.01",
)
#: of them, those for which the task must say which tokens decide
_NEED_RELEVANT = ("focus_mass",)
#: sequences of each part that are measured along training
FEW = 64


def measure(
    model: Classifier,
    spec: RunSpec,
    data: Dataset,
    part: Part,
    *,
    samples: int,
    quantities: Sequence[str] | None = None,
    patterns: Sequence[Pattern] = (),
) -> list[Row]:
    """Probe rows on the first `samples` sequences of a part of the run's data, which were drawn at random."""
    chosen = first_of(data, part, samples).to(model.readout.weight.device)
    relevant = relevant_of(spec, chosen.tokens)
    if quantities is not None and relevant is None:
        quantities = [each for each in quantities if each not in _NEED_RELEVANT]
    # A copy: whatever is done to measure, the model that is being trained stays as it is.
    rows = probe_rows(
        copy.deepcopy(model),
        chosen.tokens,
        None if bool(chosen.real.all()) else chosen.real,
        labels=chosen.labels,
        relevant=relevant,
        quantities=quantities,
        patterns=tuple(patterns),
    )
    return [finite({**row, "data": part, "samples": len(chosen)}) for row in rows]


def first_of(data: Dataset, part: Part, num: int) -> Samples:
    """The first samples of a part."""
    if part not in PARTS:
        raise ValueError(f"data must be one of {', '.join(PARTS)}, got {part!r}")
    if num < 1:
        raise ValueError(f"samples must be at least 1, got {num}")
    whole = data.train if part == "train" else data.held_out
    return Samples(whole.tokens[:num], whole.labels[:num], whole.real[:num])


def relevant_of(spec: RunSpec, tokens: torch.Tensor) -> torch.Tensor | None:
    """The tokens that decide the label, where the task can say."""
    found = spec.task_value.relevant(tokens.cpu())
    return None if found is None else found.to(tokens.device)


def finite(value: Any) -> Any:
    """The same with None for infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
