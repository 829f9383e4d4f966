"""semfocus study: a recipe's runs, and a table that compares their curves."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import SOME_RUNS_FAILED, explains_errors, fail
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

    from semfocus.cli.live_table import study_watcher
    from semfocus.notation import did_you_mean
    from semfocus.recipes import RECIPES
    from semfocus.studies import run_study

    if name not in RECIPES:
        raise ValueError(f"unknown recipe {name!r}{did_you_mean(name, RECIPES)}; known: {', '.join(RECIPES)}")
    recipe = RECIPES[name]
    specs = recipe.specs()
    with study_watcher(specs, quiet) as watcher:
        records = run_study(specs, writable_store(store), device=device, threads=threads, watcher=watcher)
    if as_json:
        typer.echo(json.dumps(records))
        return
    console = Console()
    console.print(recipe.QUESTION, style="bold")
    console.print(curve_table(records))
    for record in records:
        console.print(verdict(record), highlight=False)
    console.print("One seed: a picture, not yet a result.", style="dim")
    unfinished = [record["run"] for record in records if record["state"] != "done"]
    if unfinished:
        fail(
            f"{len(unfinished)} of {len(records)} runs did not succeed: {', '.join(unfinished)}",
            SOME_RUNS_FAILED,
        )


def curve_table(records: "list[Record]", num_rows: int = 16) -> "Table":
    """Training accuracy (held-out in brackets) of each run side by side, at a readable number of epochs."""
    from rich.table import Table

    table = Table(
        "epoch", *(record["spec"]["pattern"] for record in records), title="training accuracy (held-out)"
    )
    last = max((max(record["curve"].get("epoch", []), default=0) for record in records), default=0)
    step = max(1, -(-last // num_rows))
    for epoch in sorted({*range(0, last + 1, step), last}):
        table.add_row(str(epoch), *(_cell(record, epoch) for record in records))
    return table


def _cell(record: "Record", epoch: int, width: int = 12) -> str:
    curve = record["curve"]
    if epoch not in curve.get("epoch", []):
        return ""
    at = curve["epoch"].index(epoch)
    train, held_out = curve["train_accuracy"][at], curve["held_out_accuracy"][at]
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
