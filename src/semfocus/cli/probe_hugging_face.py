"""semfocus probe --hf: what happens inside a Hugging Face model, on a user's data."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from semfocus.cli.json_output import print_json

if TYPE_CHECKING:
    from torch import nn

    from semfocus.trial.batch import Batch
    from semfocus.trial.encoding import Vocabulary


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
    from semfocus.cli.probe_output import write_page
    from semfocus.integrations import apply
    from semfocus.mechanisms import Full
    from semfocus.probes import probe_rows
    from semfocus.report.probed import ProbedRun
    from semfocus.trial.data import kind_of, read_data
    from semfocus.trial.hugging_face_subject import HuggingFaceSubject
    from semfocus.trial.table import classes_of

    kind = kind_of(data)
    has_weights = model.is_dir() and any(model.glob("*.safetensors"))
    classes = classes_of(data) if kind == "classification" else ()
    subject = HuggingFaceSubject(model, kind, len(classes), continued=has_weights)
    held_out = read_data(data, subject.vocabulary).held_out
    found = held_out.rows(slice(0, samples))
    built = subject.build(0)
    remembers = getattr(built.config, "semfocus", None) is not None
    applied = apply(built) if remembers else apply(built, Full())
    rows = probe_rows(built, found.tokens, found.real, patterns=patterns)
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
        write_page([ProbedRun(record, None, labelled, (), maps)], page, shlex.join(command))
    if as_json:
        said = {"model": subject.name, "trained": has_weights, "layers": layers, "rows": rows}
        print_json({**said, "page": None if page is None else str(page)})
        return
    _print(subject.name + ("" if has_weights else " (untrained: no weights)"), len(found), rows)
    if page is not None:
        typer.echo(f"Page: {page}")


def _maps(
    model: "nn.Module", held_out: "Batch", sequence: int, vocabulary: "Vocabulary", classes: tuple[str, ...]
) -> dict[str, Any]:
    """Where each query of one held-out sequence looks; the answer only of a classifier."""
    import torch

    from semfocus.mechanisms import capture
    from semfocus.studies.attention_maps import maps_of

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


def _print(name: str, samples: int, rows: list[dict[str, object]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    from semfocus.cli.probe_table import SHOWN, lines_of
    from semfocus.cli.wide_console import wide_console
    from semfocus.report.probe_view import as_if

    columns: dict[str, list[dict[str, object]]] = {}
    for row in rows:
        column = as_if(name, str(row["pattern"])) if row["counterfactual"] else f"{name}, {row['pattern']}"
        columns.setdefault(column, []).append(row)
    title = f"held-out data, {samples} sequences: median (5..95 %) [noise or chance]"
    table = Table(title=escape(title), title_justify="left", box=SIMPLE_HEAD)
    table.add_column("quantity", no_wrap=True)
    table.add_column("layer")
    for column in columns:
        table.add_column(escape(column))
    for quantity in SHOWN:
        for place, (slot, cells) in enumerate(lines_of(quantity, columns)):
            table.add_row(quantity if place == 0 else "", slot, *map(escape, cells))
    wide_console().print(table)
