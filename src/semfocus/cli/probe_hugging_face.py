"""semfocus probe --hf: what happens inside a Hugging Face model, on a user's data."""

from pathlib import Path

from semfocus.cli.json_output import print_json


def probe_hugging_face(model: Path, data: Path, samples: int, patterns: list[str], as_json: bool) -> None:
    """Under the pattern that its config remembers, else full attention; with its weights, or untrained without any."""
    from semfocus.integrations import apply
    from semfocus.mechanisms import Full
    from semfocus.probes import probe_rows
    from semfocus.trial.data import kind_of, read_data
    from semfocus.trial.hugging_face_subject import HuggingFaceSubject
    from semfocus.trial.table import classes_of

    kind = kind_of(data)
    has_weights = model.is_dir() and any(model.glob("*.safetensors"))
    classes = len(classes_of(data)) if kind == "classification" else 0
    subject = HuggingFaceSubject(model, kind, classes, continued=has_weights)
    found = read_data(data, subject.vocabulary).held_out.rows(slice(0, samples))
    built = subject.build(0)
    remembers = getattr(built.config, "semfocus", None) is not None
    applied = apply(built) if remembers else apply(built, Full())
    rows = probe_rows(built, found.tokens, found.real, patterns=patterns)
    if as_json:
        layers = [{"layer": each.layer, "name": each.name, "pattern": str(each.pattern)} for each in applied]
        print_json({"model": subject.name, "trained": has_weights, "layers": layers, "rows": rows})
        return
    _print(subject.name + ("" if has_weights else " (untrained: no weights)"), len(found), rows)


def _print(name: str, samples: int, rows: list[dict[str, object]]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from semfocus.cli.probe_table import SHOWN, lines_of
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
    Console(highlight=False).print(table)
