"""The tables of `semfocus probe`: quantities and layers down, runs across."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semfocus.report.probed import ProbedRun

#: of all quantities, those that a terminal shows; --json and --page have the others
SHOWN = (
    "dispersion",
    "separation",
    "key_load",
    "effective_keys",
    "focus_mass",
    "received_mass",
    "mask_agreement_0.01",
    "lambda_w_local",
    "gradient_norm_query_key",
    "gradient_norm_value_out",
)
_PARTS = {"held_out": "held-out data", "train": "training data"}


def print_tables(found: "Sequence[ProbedRun]") -> None:
    """One table for each part of the data; then what may be wrong with the models."""
    from semfocus.cli.wide_console import wide_console
    from semfocus.report.probed import run_labels

    console = wide_console()
    labels = list(run_labels(found))
    for label, run in zip(labels, found, strict=True):
        spec = run.record["spec"]
        console.print(
            f"{label}: {spec['task']}, {spec['pattern']}, seed {spec['seed']}, after epoch {run.epoch}",
            markup=False,
        )
    for part in _PARTS:
        if any(row["data"] == part for run in found for row in run.rows):
            _print_table(console, labels, found, part)
    for label, run in zip(labels, found, strict=True):
        if run.along:
            epochs = sorted({row["epoch"] for row in run.along})
            console.print(
                f"{label}: along training at {len(epochs)} epochs, {epochs[0]} to {epochs[-1]} (--json, --page)",
                markup=False,
            )
        for problem in run.problems:
            console.print(f"note: {label}: {problem}", markup=False, style="dim")


def _print_table(console: Any, labels: Sequence[str], found: "Sequence[ProbedRun]", part: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    columns = columns_of(labels, found, part)
    samples = sorted({row["samples"] for rows in columns.values() for row in rows})
    table = Table(
        title=escape(
            f"{_PARTS[part]}, {' or '.join(map(str, samples))} sequences: median (5..95 %) [noise or chance]"
        ),
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("quantity", no_wrap=True)
    table.add_column("layer")
    for label in columns:
        table.add_column(escape(label))
    for name in SHOWN:
        for first, (slot, cells) in _first(lines_of(name, columns)):
            table.add_row(name if first else "", slot, *map(escape, cells))
    console.print(table)


def columns_of(
    labels: Sequence[str], found: "Sequence[ProbedRun]", part: str
) -> dict[str, list[dict[str, Any]]]:
    """The rows of every run, and of every other pattern on its scores."""
    from semfocus.report.probe_view import as_if

    columns: dict[str, list[dict[str, Any]]] = {}
    for label, run in zip(labels, found, strict=True):
        for row in run.rows:
            if row["data"] == part:
                name = as_if(label, row["pattern"]) if row["counterfactual"] else label
                columns.setdefault(name, []).append(dict(row))
    return columns


def lines_of(quantity: str, columns: dict[str, list[dict[str, Any]]]) -> list[tuple[str, list[str]]]:
    """For each layer and head a text for each column; a dash where the quantity does not exist."""
    from semfocus.report.layer_figure import slot_text, slots_of

    by_column = {
        label: slots_of([row for row in rows if row["quantity"] == quantity])
        for label, rows in columns.items()
    }
    slots = sorted(
        {slot for rows in by_column.values() for slot in rows},
        key=lambda slot: tuple(-1 if each is None else each for each in slot),
    )
    num_heads = len({head for _, head in slots if head is not None})
    return [
        (slot_text(slot, num_heads), [cell_text(by_column[label].get(slot)) for label in columns])
        for slot in slots
    ]


def cell_text(row: Mapping[str, Any] | None) -> str:
    """`1.31 (0.42..2.9) [1.5]`.

    >>> cell_text({"quantiles": {"5": 0.42, "50": 1.31, "95": 2.9}, "null": None})
    '1.31 (0.42..2.9)'
    >>> cell_text({"quantiles": {"5": None, "50": None, "95": None}, "null": None})
    '-'
    """
    from semfocus.report.value_axis import short

    if row is None or row["quantiles"].get("50") is None:
        return "-"
    low, middle, high = (short(row["quantiles"].get(percent)) for percent in ("5", "50", "95"))
    null = row.get("null")
    return f"{middle} ({low}..{high})" + ("" if null is None else f" [{short(null)}]")


def _first(lines: list[tuple[str, list[str]]]) -> list[tuple[bool, tuple[str, list[str]]]]:
    return [(place == 0, line) for place, line in enumerate(lines)]
