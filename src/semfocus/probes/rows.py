"""`probe_rows`: every quantity of a model on a data set, as plain rows."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from torch import Tensor, nn

from semfocus.mechanisms import Pattern, parse_pattern
from semfocus.model import Classifier
from semfocus.model.evaluation import evaluation_mode
from semfocus.notation import did_you_mean
from semfocus.probes.collection import (
    Collector,
    Selection,
    TraceProbe,
    ValuePlace,
    add_gaps,
    add_gradients,
    add_weights,
)
from semfocus.probes.measures import QUANTITIES
from semfocus.probes.names import Quantity
from semfocus.probes.noise import embedding_of
from semfocus.probes.quantities.gradient_norms import Loss
from semfocus.probes.quantities.weight_norms import has_projections
from semfocus.probes.sequences import (
    Sequences,
    attentions_of,
    checked_sequences,
    chunk_size,
    num_globals_of,
    own_pattern,
)
from semfocus.probes.traces import refuse_meaningless

Row = dict[str, Any]

#: sequences, from the beginning of the data, that Gaussian nulls are computed on
NUM_NULL = 32


def probe_rows(
    model: nn.Module,
    tokens: Tensor,
    padding: Tensor | None = None,
    *,
    labels: Tensor | None = None,
    relevant: Tensor | None = None,
    quantities: Iterable[str] | None = None,
    patterns: Iterable[Pattern | str] = (),
    chunk: int | None = None,
    seed: int = 0,
    loss: Loss | None = None,
) -> list[Row]:
    """Quantities of `QUANTITIES` (by default all that can be computed) of a model in evaluation mode.

    tokens (sequences, length); padding and relevant like them, bool; labels (sequences,), or like tokens.
    `patterns` are applied to the scores of the model's own traces as well (rows with counterfactual = True).
    `chunk` sequences run at a time, by default as many as hold about two million scores; only random patterns
    depend on it.

    A row: quantity, layer, head (both None: all together), pattern, counterfactual, num (finite values), mean
    and quantiles of them (None if there is none), num_infinite (separation where nothing is masked),
    num_missing (values that do not exist: no key kept), exact (False: quantiles of a sample), null (the mean
    where the scores are Gaussian noise of the same size, measured on the first 32 sequences; chance for
    focus; None if there is no such thing).

    `loss(model, sequences)`, the sum of the losses of `sequences.tokens` (with `.padding` and `.labels`),
    gives gradient norms of a model that is not of ours.

    What would be NaN because of the model is a ValueError: parameters, scores or gradients that are not numbers.

    Queries at padding are left out of everything. Global tokens are in everything, as queries and as keys.
    """
    data = checked_sequences(tokens, padding, relevant, labels)
    refuse_broken(model)
    counterfactuals = [parse_pattern(each) if isinstance(each, str) else each for each in patterns]
    for each in counterfactuals:
        refuse_meaningless(each, num_globals_of(model))
    wanted = wanted_quantities(model, labels, relevant, quantities, loss)
    own = Selection(own_pattern(attentions_of(model)), False)
    arms = [own, *(Selection(each, True) for each in dict.fromkeys(counterfactuals))]
    chunk = chunk_size(model, tokens.shape[1]) if chunk is None else chunk
    if chunk < 1:
        raise ValueError(f"chunk must be at least 1, got {chunk}")
    with evaluation_mode(model):
        seen, null = _collected(model, data, wanted, arms, chunk, seed)
        add_gradients(model, data, wanted, own, chunk, loss, seen)
    add_weights(model, wanted, own, seen)
    return list(_rows(wanted, seen, null))


def refuse_broken(model: nn.Module) -> None:
    """Every parameter must be a finite number, or what depends on it would look like a value that does not exist."""
    for name, parameter in model.named_parameters():
        if not parameter.isfinite().all():
            raise ValueError(f"parameter {name} has values that are NaN or infinite: did the run diverge?")


def _collected(
    model: nn.Module,
    data: Sequences,
    wanted: Sequence[Quantity],
    arms: Sequence[Selection],
    chunk: int,
    seed: int,
) -> tuple[Collector, Collector]:
    """The values, and those of Gaussian twins."""
    measured = {each.name: each for each in wanted}
    if any(each.parts for each in wanted):
        measured |= {name: QUANTITIES[name] for each in wanted for name in each.parts}
    if any(each.null == "focus_chance" for each in wanted):
        measured["focus_chance"] = QUANTITIES["focus_chance"]
    seen, null = Collector(), Collector()
    of_traces = [each for each in measured.values() if each.measure or each.needs == "embedding"]
    if of_traces:
        TraceProbe(model, of_traces, arms, seed).collect(data, chunk, seen)
    of_noise = [each for each in measured.values() if each.null == "twin"]
    if of_noise:
        first = data.part(0, NUM_NULL)
        selected = list(
            dict.fromkeys(Selection(each.pattern, True) for each in arms if each.pattern is not None)
        )
        TraceProbe(model, of_noise, selected, seed).collect(first, chunk, null, twin=True)
    add_gaps(wanted, seen)
    add_gaps(wanted, null)
    return seen, null


def _rows(wanted: Sequence[Quantity], seen: Collector, null: Collector) -> Iterator[Row]:
    """In the order of the quantities; of each the whole first, then layer by layer."""
    places = sorted(
        seen.summaries, key=lambda place: (place.layer is not None, place.layer or 0, place.head or 0)
    )
    for quantity in wanted:
        for place in places:
            if place.quantity == quantity.name:
                yield _row(quantity, place, seen, null)


def _row(quantity: Quantity, place: ValuePlace, seen: Collector, null: Collector) -> Row:
    summary = seen.summaries[place]
    return {
        "quantity": quantity.name,
        "layer": place.layer,
        "head": place.head,
        "pattern": place.arm.name,
        "counterfactual": place.arm.is_counterfactual,
        "num": summary.num,
        "num_infinite": summary.num_infinite,
        "num_missing": summary.num_missing,
        "exact": summary.is_exact,
        "mean": summary.mean,
        "quantiles": summary.quantiles(),
        "null": _null(quantity, place, seen, null),
    }


def _null(quantity: Quantity, place: ValuePlace, seen: Collector, null: Collector) -> float | None:
    if quantity.null is None:
        return None
    if quantity.null == "twin":
        summary = null.summaries.get(
            ValuePlace(place.quantity, Selection(place.arm.pattern, True), place.layer, place.head)
        )
    else:  # another quantity of the model, which no pattern changes
        own = next(each.arm for each in seen.summaries if each.quantity == quantity.null)
        summary = seen.summaries.get(ValuePlace(quantity.null, own, place.layer, place.head))
    return None if summary is None else summary.mean


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
