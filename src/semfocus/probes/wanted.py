"""Which quantities can be computed, with what was given and what the model is."""

from collections.abc import Iterable

from torch import Tensor, nn

from semfocus.model import Classifier
from semfocus.notation import did_you_mean
from semfocus.probes.catalog import QUANTITIES
from semfocus.probes.gradient_norms import Loss
from semfocus.probes.noise import embedding_of
from semfocus.probes.projections import has_projections
from semfocus.probes.quantity import Quantity
from semfocus.probes.sequences import attentions_of


def wanted_quantities(
    model: nn.Module,
    labels: Tensor | None,
    relevant: Tensor | None,
    names: Iterable[str] | None,
    loss: Loss | None = None,
) -> list[Quantity]:
    """Those asked for, refused where something is missing; without names, all for which nothing is."""
    lacking = _lacking(model, labels, relevant, loss)
    if names is None:
        return [each for each in QUANTITIES.values() if each.needs not in lacking]
    chosen = list(dict.fromkeys(names))
    if not chosen:
        raise ValueError(f"no quantity was asked for; known: {', '.join(QUANTITIES)}")
    for name in chosen:
        if name not in QUANTITIES:
            known = ", ".join(QUANTITIES)
            raise ValueError(f"unknown quantity {name!r}{did_you_mean(name, QUANTITIES)}; known: {known}")
        needs = QUANTITIES[name].needs
        if needs in lacking:
            raise ValueError(f"{name} needs {lacking[needs]}")
    return [QUANTITIES[name] for name in chosen]


def _lacking(
    model: nn.Module, labels: Tensor | None, relevant: Tensor | None, loss: Loss | None
) -> dict[str | None, str]:
    """What is not there, and how to say so."""
    lacking: dict[str | None, str] = {}
    is_classifier = isinstance(model, Classifier)
    if loss is None and (labels is None or not is_classifier):
        lacking["labels"] = "labels=... and a semfocus.model.Classifier, or loss=..."
    if relevant is None:
        lacking["relevant"] = "relevant=..., the tokens that decide the label"
    if not is_classifier:
        lacking["classifier"] = f"a semfocus.model.Classifier, got {type(model).__name__}"
    if not all(has_projections(each) for each in attentions_of(model)):
        lacking["projections"] = "attention layers of semfocus.model"
    try:
        embedding_of(model)
    except ValueError as problem:
        lacking["embedding"] = str(problem)
    return lacking
