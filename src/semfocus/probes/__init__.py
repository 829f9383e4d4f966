"""TEMPORARY stand-in for the probes, with their contract and a few of their quantities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from semfocus.mechanisms import Pattern, capture
from semfocus.randomness import stream

_PERCENTS = (0, 5, 10, 25, 50, 75, 90, 95, 100)


@dataclass(frozen=True)
class Quantity:
    name: str
    meaning: str
    per: str
    unit: str


QUANTITIES: Mapping[str, Quantity] = {
    each.name: each
    for each in (
        Quantity("dispersion", "Highest minus lowest kept score.", "query", "logits"),
        Quantity("separation", "Lowest kept minus highest masked score.", "query", "logits"),
        Quantity(
            "key_load",
            "Queries that keep a key, over the mean number of keys that a query keeps.",
            "key",
            "ratio",
        ),
        Quantity("received_mass", "Attention that all queries together give to a key.", "key", "mass"),
        Quantity("effective_keys", "How many keys a query effectively attends to.", "query", "keys"),
        Quantity("focus_mass", "Attention mass on the tokens that decide the label.", "query", "mass"),
        Quantity(
            "lambda_w_local", "Exact local Lipschitz constant of a query's output in W.", "query", "norm"
        ),
        Quantity("gradient_norm_query_key", "Gradient norm, query and key.", "model", "norm"),
        Quantity("gradient_norm_value_out", "Gradient norm, value and output.", "model", "norm"),
        Quantity("mask_agreement_0.01", "Share of kept keys that stay kept under noise.", "query", "share"),
    )
}


@torch.no_grad()
def probe_rows(
    model: nn.Module,
    tokens: Tensor,
    padding: Tensor | None = None,
    *,
    labels: Tensor | None = None,
    relevant: Tensor | None = None,
    quantities: Sequence[str] | None = None,
    patterns: Sequence[Pattern] = (),
    chunk: int | None = None,
) -> list[dict[str, Any]]:
    was_training = model.training
    model.eval()
    with capture(model) as traces:
        model(tokens, padding, generator=stream(0, "probe"))
    model.train(was_training)
    own = str(model.config.pattern)  # type: ignore[union-attr]
    rows: list[dict[str, Any]] = []
    for trace in traces:
        for pattern in (None, *patterns):
            scores = trace.scores
            allowed = scores > -torch.inf
            kept = trace.kept if pattern is None else pattern.keep(scores, allowed)
            weights = scores.masked_fill(~kept, -torch.inf).softmax(-1)
            name = own if pattern is None else str(pattern)
            masked = allowed & ~kept
            lowest = scores.masked_fill(~kept, torch.inf).amin(-1)
            highest = scores.masked_fill(~masked, -torch.inf).amax(-1)
            found: dict[str, tuple[Tensor, float | None]] = {
                "dispersion": (scores.masked_fill(~kept, -torch.inf).amax(-1) - lowest, 1.5),
                "separation": (lowest - highest, None),
                "key_load": (kept.sum(-2) / kept.sum(-1).double().mean(), 1.0),
                "received_mass": (weights.sum(-2), 1.0),
                "effective_keys": (torch.special.entr(weights).sum(-1).exp(), None),
            }
            if relevant is not None:
                at = relevant[:, None, None, :]
                extra = weights.shape[-1] - at.shape[-1]
                at = torch.nn.functional.pad(at, (0, extra))
                share = float((at & allowed).sum() / allowed.sum())
                found["focus_mass"] = ((weights * at).sum(-1), share)
            for quantity, (values, null) in found.items():
                if quantities is None or quantity in quantities:
                    rows.append(_row(quantity, trace.layer, name, pattern is not None, values, null))
    return rows


def _row(
    quantity: str, layer: int, pattern: str, counterfactual: bool, values: Tensor, null: float | None
) -> dict[str, Any]:
    array = values.double().flatten().numpy()
    finite = array[np.isfinite(array)]
    quantiles = (
        np.quantile(finite, [each / 100 for each in _PERCENTS]) if len(finite) else [None] * len(_PERCENTS)
    )
    return {
        "quantity": quantity,
        "layer": layer,
        "head": 0,
        "pattern": pattern,
        "counterfactual": counterfactual,
        "num": len(finite),
        "num_infinite": int(np.isinf(array).sum()),
        "num_missing": int(np.isnan(array).sum()),
        "mean": float(finite.mean()) if len(finite) else None,
        "quantiles": {
            str(each): None if value is None else float(value)
            for each, value in zip(_PERCENTS, quantiles, strict=True)
        },
        "null": null,
    }
