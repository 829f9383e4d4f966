"""The tables of `semfocus probe`: quantities and layers down, runs across."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from semfocus.runs.arms import task_title
from semfocus.words import count_of, span

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from semfocus.report.probed_runs import ProbedRun

#: quantity -> a text for the layer, and one for each column
Lines = Mapping[str, list[tuple[str, list[str]]]]

#: of all quantities, those that a terminal shows; --json and --page have the others
SHOWN = (
    "dispersion",
    "dispersion_ratio",
    "separation",
    "largest_key_load",
    "effective_keys",
    "focus_mass",
    "largest_received_mass",
    "mask_agreement_0.1",
    "lambda_w_local",
    "gradient_norm_query_key",
    "gradient_norm_value_out",
)
_PARTS = {"held_out": "held-out data", "train": "training data"}


def print_tables(found: "Sequence[ProbedRun]") -> None:
    """One table for each part of the data; then what may be wrong with the models."""
    from semfocus.cli.output import table_console
    from semfocus.report.probed_runs import run_labels

    console = table_console()
    labels = list(run_labels(found))
    tasks = [run.record["spec"]["task"] for run in found]
    for label, run in zip(labels, found, strict=True):
        spec = run.record["spec"]
        console.print(
            f"{label}: {task_title(spec['task'], tasks)}, {spec['pattern']}, seed {spec['seed']}, after epoch {run.epoch}",
            markup=False,
        )
    shown: dict[str, None] = {}
    for part in _PARTS:
        columns = columns_of(labels, found, part)
        if columns:
            samples = sorted({row["samples"] for rows in columns.values() for row in rows})
            *fewer, most = samples
            title = f"{_PARTS[part]}, {' or '.join([*map(str, fewer), count_of(most, 'sequence')])}"
            shown |= dict.fromkeys(print_table(console, title, columns))
    print_meanings(console, shown)
    for label, run in zip(labels, found, strict=True):
        if run.along:
            epochs = sorted({row["epoch"] for row in run.along})
            console.print(
                f"{label}: along training at {count_of(len(epochs), 'epoch')}, {span(str(epochs[0]), str(epochs[-1]))} (--json, --page)",
                markup=False,
            )
        for problem in run.problems:
            console.print(f"note: {label}: {problem}", markup=False, style="dim")


def print_table(console: "Console", title: str, columns: Mapping[str, list[dict[str, Any]]]) -> list[str]:
    """The quantities that were printed.

    No number is ever cut: without room spreads are left out, then columns go below.
    """
    from rich.markup import escape

    every = {name: found for name in SHOWN if (found := lines_of(name, columns))}
    spread = len(groups_of(every, list(columns), console.width)) == 1
    lines = every if spread else {name: lines_of(name, columns, spread=False) for name in every}
    said = "mean (5..95 %)" if spread else "mean"
    console.print(escape(f"\n{title}: {said} [the mean of noise, or by chance]"), style="italic")
    for group in groups_of(lines, list(columns), console.width):
        console.print(_table(lines, list(columns), group))
    if not spread:
        console.print("The spread (5..95 %) has no room here: a wider terminal, or --page.", style="dim")
    return list(every)


def groups_of(lines: Lines, labels: Sequence[str], width: int) -> list[list[int]]:
    """The places of the columns that fit beside each other, at least one each."""
    rows = [[name, slot, *cells] for name, found in lines.items() for slot, cells in found]
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    first = sum(widths[:2]) + 4  # two more are the ends of a row
    groups: list[list[int]] = []
    used = width
    for place, (label, cells) in enumerate(zip(labels, widths[2:], strict=False)):
        needed = max(cells, max(map(len, label.split()), default=0) + 2) + 1
        if not groups or used + needed > width:
            groups.append([])
            used = first
        groups[-1].append(place)
        used += needed
    return groups


def _table(lines: Lines, labels: Sequence[str], group: Sequence[int]) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD)
    table.add_column("quantity", no_wrap=True)
    table.add_column("layer")
    for place in group:
        table.add_column(escape(labels[place]), overflow="fold")
    for name, found in lines.items():
        for number, (slot, cells) in enumerate(found):
            table.add_row("" if number else name, slot, *(escape(cells[place]) for place in group))
    return table


def print_meanings(console: "Console", quantities: Iterable[str]) -> None:
    """A line for each."""
    from semfocus.probes import QUANTITIES

    for name in quantities:
        console.print(f"{name:<24} {QUANTITIES[name].meaning}", style="dim", markup=False)


def columns_of(
    labels: Sequence[str], found: "Sequence[ProbedRun]", part: str
) -> dict[str, list[dict[str, Any]]]:
    """The rows of every run, and of every other pattern on its scores."""
    from semfocus.report.probed_runs import as_if

    columns: dict[str, list[dict[str, Any]]] = {}
    for label, run in zip(labels, found, strict=True):
        for row in run.rows:
            if row["data"] == part:
                name = as_if(label, row["pattern"]) if row["counterfactual"] else label
                columns.setdefault(name, []).append(dict(row))
    return columns


def lines_of(
    quantity: str, columns: Mapping[str, list[dict[str, Any]]], spread: bool = True
) -> list[tuple[str, list[str]]]:
    """For each layer and head a text for each column; a dash where the quantity does not exist."""
    from semfocus.report.probed_runs import slot_text, slots_of

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
        (slot_text(slot, num_heads), [cell_text(by_column[label].get(slot), spread) for label in columns])
        for slot in slots
    ]


def cell_text(row: Mapping[str, Any] | None, spread: bool = True) -> str:
    """`1.31 (0.42..2.9) [1.5]`: the null is a mean, so a mean stands beside it, not the median of skewed values.

    >>> cell_text({"mean": 1.31, "quantiles": {"5": 0.42, "95": 2.9}, "null": 1.5})
    '1.31 (0.42..2.9) [1.5]'
    >>> cell_text({"mean": 1.31, "quantiles": {"5": 0.42, "95": 2.9}, "null": 1.5}, spread=False)
    '1.31 [1.5]'
    >>> cell_text({"mean": None, "quantiles": {"5": None, "95": None}, "null": None})
    '-'
    """
    from semfocus.words import short

    if row is None or row["mean"] is None:
        return "-"
    low, high = (short(row["quantiles"].get(percent)) for percent in ("5", "95"))
    null = row.get("null")
    between = f" ({low}..{high})" if spread else ""
    return f"{short(row['mean'])}{between}" + ("" if null is None else f" [{short(null)}]")
