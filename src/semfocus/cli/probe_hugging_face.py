"""semfocus probe --hf: what happens inside a Hugging Face model, on a user's data."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from semfocus.cli.output import print_json
from semfocus.words import count_of

if TYPE_CHECKING:
    from torch import Tensor, nn

    from semfocus.probes.sequences import Sequences
    from semfocus.subjects.batch import Batch
    from semfocus.subjects.vocabulary import Vocabulary


#: by what a quantity needs, why a model that is not of ours has none
_REASONS = {
    "relevant": "the data does not say which tokens decide the label",
    "projections": "only of attention of semfocus.model: elsewhere scores and values are no single matrix",
    "classifier": "only of models of semfocus.model",
    "labels": "the parameters of this model are not told apart by their names",
    "embedding": "the model has no embedding to add noise to",
}


def probe_hugging_face(
    model: Path,
    data: Path,
    samples: int,
    patterns: list[str],
    page: Path | None,
    sequence: int,
    as_json: bool,
) -> None:
    """Under the pattern that its config remembers, else full attention; with its weights, or untrained without any."""
    from semfocus.integrations import apply
    from semfocus.mechanisms import Full, parse_pattern
    from semfocus.probes import QUANTITIES, probe_rows
    from semfocus.report.pages.probe_page import write_probe_page
    from semfocus.report.probed_runs import Probed, ProbedRun
    from semfocus.subjects.batch import Batch
    from semfocus.subjects.data import kind_of, read_data
    from semfocus.subjects.hugging_face import HuggingFaceSubject
    from semfocus.subjects.table import classes_of
    from semfocus.trial.spec import refuse_pattern

    kind = kind_of(data)
    has_weights = model.is_dir() and any(model.glob("*.safetensors"))
    classes = classes_of(data) if kind == "classification" else ()
    subject = HuggingFaceSubject(model, kind, len(classes), continued=has_weights)
    held_out = read_data(data, subject.vocabulary).held_out
    found = held_out.rows(slice(0, samples))
    for pattern in patterns:
        refuse_pattern(parse_pattern(pattern), found.tokens.shape[1])
    built = subject.build(0)
    remembers = getattr(built.config, "semfocus", None) is not None
    applied = apply(built) if remembers else apply(built, Full())

    def loss(model: "nn.Module", part: "Sequences") -> "Tensor":
        return subject.loss(model, Batch(part.tokens, part.padding, part.labels)) * len(part)

    rows = probe_rows(built, found.tokens, found.real, labels=found.labels, patterns=patterns, loss=loss)
    missing = left_out(rows)
    layers = [{"layer": each.layer, "name": each.name, "pattern": str(each.pattern)} for each in applied]
    if page is not None:
        own = list(dict.fromkeys(each["pattern"] for each in layers))
        record = {
            "run": subject.name if has_weights else f"{subject.name} (untrained)",
            "spec": {"task": data.name, "pattern": own[0] if len(own) == 1 else "several patterns"},
        }
        labelled = [{**row, "data": "held_out", "samples": len(found)} for row in rows]
        maps = _maps(built, held_out, sequence, subject.vocabulary, classes)
        command = ["semfocus", "probe", "--hf", str(model), "--data", str(data), "--samples", str(samples)]
        command += ["--patterns", "; ".join(patterns)] if patterns else []
        command += ["--sequence", str(sequence), "--page", str(page)]
        runs = [ProbedRun(record, None, labelled, (), maps)]
        write_probe_page(Probed(runs, QUANTITIES, shlex.join(command)), page)
    if as_json:
        said = {
            "model": subject.name,
            "trained": has_weights,
            "layers": layers,
            "rows": rows,
            "left_out": missing,
        }
        print_json({**said, "page": None if page is None else str(page)})
        return
    _print(subject.name + ("" if has_weights else " (untrained: no weights)"), len(found), rows)
    typer.echo(_legend(rows, missing))
    if page is not None:
        typer.echo(f"Page: {page}")


def left_out(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """The quantities without any row, by the reason."""
    from semfocus.probes import QUANTITIES

    measured = {row["quantity"] for row in rows}
    found: dict[str, list[str]] = {}
    for quantity in QUANTITIES.values():
        if quantity.name not in measured:
            found.setdefault(_REASONS.get(quantity.needs or "", "nothing to measure"), []).append(
                quantity.name
            )
    return found


def _legend(rows: list[dict[str, Any]], missing: dict[str, list[str]]) -> str:
    """What the table says, and what it does not."""
    from semfocus.cli.probe_table import SHOWN
    from semfocus.probes import QUANTITIES

    measured = {row["quantity"] for row in rows}
    lines = [f"{name}: {QUANTITIES[name].meaning}" for name in SHOWN if name in measured]
    lines.append(
        "-: there is no such value, such as the separation of full attention, which masks nothing. Layers and heads count "
        "from 1 here, from 0 in semfocus.apply and semfocus.capture. All quantities: --json, --page."
    )
    lines += [f"not measured: {', '.join(names)}: {reason}" for reason, names in missing.items()]
    return "\n".join(lines)


def _maps(
    model: "nn.Module", held_out: "Batch", sequence: int, vocabulary: "Vocabulary", classes: tuple[str, ...]
) -> dict[str, Any]:
    """Where each query of one held-out sequence looks; the answer only of a classifier."""
    import torch

    from semfocus.measurements.maps import maps_of
    from semfocus.mechanisms import capture

    if not 0 <= sequence < len(held_out):
        raise ValueError(f"the held-out data has sequences 0 to {len(held_out) - 1}, not {sequence}")
    one = held_out.rows(slice(sequence, sequence + 1))
    mask = None if one.real is None else one.real.long()
    with torch.no_grad(), capture(model.eval()) as traces:
        output = model(input_ids=one.tokens, attention_mask=mask)
    return {
        "data": "held_out",
        "sequence": sequence,
        "symbols": [vocabulary.shown(token) for token in one.tokens[0].tolist()],
        "relevant": None,
        "label": None if one.labels is None else classes[int(one.labels[0])],
        "predicted": classes[int(output.logits[0].argmax())] if classes else None,
        **maps_of(traces),
    }


def _print(name: str, samples: int, rows: list[dict[str, Any]]) -> None:
    from semfocus.cli.output import table_console
    from semfocus.cli.probe_table import print_meanings, print_table
    from semfocus.report.probed_runs import as_if

    columns: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        column = as_if(name, str(row["pattern"])) if row["counterfactual"] else f"{name}, {row['pattern']}"
        columns.setdefault(column, []).append(row)
    console = table_console()
    print_meanings(console, print_table(console, f"held-out data, {count_of(samples, 'sequence')}", columns))
