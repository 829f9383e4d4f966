"""semfocus study: a recipe's runs, and a table that compares their curves."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import DeviceOption, JsonOption, StoreOption, ThreadsOption, writable_store

if TYPE_CHECKING:
    from rich.table import Table

    from semfocus.runs.record import Record


@explains_errors
def study(
    name: Annotated[str, typer.Argument(help="A recipe: quick.")],
    store: StoreOption = None,
    device: DeviceOption = "auto",
    threads: ThreadsOption = 1,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Train every run of a recipe and compare the learning curves. Finished runs are read, not repeated."""
    from rich.console import Console

    from semfocus.cli.progress import progress_observer
    from semfocus.notation import did_you_mean
    from semfocus.recipes import RECIPES
    from semfocus.studies import run_study

    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}{did_you_mean(name, RECIPES)}; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    records = run_study(
        recipe.specs(),
        writable_store(store),
        observe=lambda spec: progress_observer(f"{spec.task} {spec.pattern}", quiet),
        device=device,
        threads=threads,
    )
    if as_json:
        typer.echo(json.dumps(records))
        return
    console = Console()
    console.print(recipe.QUESTION, style="bold")
    console.print(curve_table(records))
    for record in records:
        console.print(verdict(record), highlight=False)
    console.print("One seed: a picture, not yet a result.", style="dim")


def curve_table(records: "list[Record]", num_rows: int = 16) -> "Table":
    """Training accuracy (held-out in brackets) of each run side by side, at a readable number of epochs."""
    from rich.table import Table

    table = Table(
        "epoch", *(record["spec"]["pattern"] for record in records), title="training accuracy (held-out)"
    )
    epochs = max((record["curve"]["epoch"] for record in records), key=len)
    step = max(1, -(-(len(epochs) - 1) // num_rows))
    for epoch in sorted({*epochs[::step], epochs[-1]}):
        table.add_row(str(epoch), *(_cell(record, epoch) for record in records))
    return table


def _cell(record: "Record", epoch: int, width: int = 20) -> str:
    curve = record["curve"]
    if epoch >= len(curve["epoch"]):
        return ""
    train, held_out = curve["train_accuracy"][epoch], curve["held_out_accuracy"][epoch]
    bar = "█" * round(train * width)
    return f"{bar:<{width}} {train:6.1%} ({held_out:.1%})"


def verdict(record: "Record") -> str:
    """One sentence about one run."""
    pattern, summary = record["spec"]["pattern"], record["summary"]
    if record["state"] != "done":
        return f"{pattern} {record['state']}: {record['reason']}"
    target, reached = summary["target_accuracy"], summary["epochs_to_target"]
    if reached is None:
        return f"{pattern} did not reach {target:.0%} training accuracy in {summary['epochs']} epochs."
    return f"{pattern} reached {target:.0%} training accuracy at epoch {reached} ({summary['seconds_to_target']:.0f} s)."
