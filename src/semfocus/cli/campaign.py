"""semfocus campaign: an ordered list of studies, worked through at low priority."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import SOME_RUNS_FAILED, explains_errors, fail
from semfocus.cli.options import (
    DeviceOption,
    ExecutorOption,
    JsonOption,
    QuietOption,
    StoreOption,
    WorkersOption,
    writable_store,
)
from semfocus.cli.output import print_json, table_console
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.campaign import Campaign
    from semfocus.campaign.account import Account

#: the lowest priority: other work on the machine comes first
_LOWEST = 19


@explains_errors
def campaign(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE.py", help="A Python file that defines STAGES, a list of Stage."),
    ],
    store: StoreOption = None,
    executor: ExecutorOption = "pool",
    workers: WorkersOption = None,
    results: Annotated[
        list[Path] | None,
        typer.Option(
            "--results",
            metavar="DIR",
            help="Folder of exported runs that are not trained again. May be repeated.",
            show_default=False,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Add the runs that have ended to small tables here, a folder per stage.",
            show_default=False,
        ),
    ] = None,
    every: Annotated[float, typer.Option(min=0, metavar="MINUTES", help="Between two exports.")] = 10.0,
    stage: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this stage.", show_default=False)
    ] = None,
    measure: Annotated[
        bool, typer.Option(help="Also what is measured after training; without, it follows another time.")
    ] = True,
    status: Annotated[
        bool, typer.Option("--status", help="Say how far every stage is, in runs and core-hours, and end.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the runs that are left, and end; nothing is written.")
    ] = False,
    nice: Annotated[int, typer.Option(min=0, max=_LOWEST, help="Priority: 19 is the lowest.")] = _LOWEST,
    device: DeviceOption = "auto",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Work through the studies of a file in order, one thread per run, and export the runs as they end.

    Runs that are in the store, or in an export, are not trained again. End it as you like (Ctrl-C, SIGTERM, kill).
    Rerun the command to resume, here or on another machine. Several may work on one store at once. Exit code 3: some
    runs failed.

    Example: semfocus campaign results/campaign.py --results results --export results/campaign
    """
    if as_json and not status:
        raise ValueError("--json goes with --status")
    from semfocus.campaign import open_campaign
    from semfocus.execution.executor import Conditions

    opened = open_campaign(file, store, results=results or (), export=export)
    if stage is not None:
        opened.stage(stage)
    if status or dry_run:
        _show(opened, stage, as_json=as_json, runs=dry_run)
        return
    Conditions(executor)  # type: ignore[arg-type]  # it checks
    writable_store(store)
    os.nice(max(0, nice - os.nice(0)))
    failed = opened.run(
        only=stage,
        executor=executor,  # type: ignore[arg-type]  # checked above
        workers=workers,
        device=device,
        quiet=quiet,
        measure=measure,
        export_seconds=60 * every,
        say=lambda line: None if quiet else typer.echo(line, err=True),
    )
    for line in failed:
        typer.echo(" ".join(line.split()), err=True)
    if failed:
        fail(
            f"{len(failed)} of the campaign did not succeed; rerun the command to try again", SOME_RUNS_FAILED
        )


def _show(opened: "Campaign", only: str | None, *, as_json: bool, runs: bool) -> None:
    from semfocus.campaign.account import accounts, total

    found = accounts(opened, only)
    everything = [*found, total(found)] if len(found) > 1 else found
    if as_json:
        print_json([asdict(each) for each in everything])
        return
    if runs:
        shared_left = {each.name: each.shared_left for each in found}
        for name, lines in _left(opened, only):
            others = shared_left[name]
            nothing = f"nothing but {count_of(others, 'run')} of earlier stages" if others else "nothing"
            typer.echo(f"{name}:" if lines else f"{name}: {nothing} is left")
            for line in lines:
                typer.echo(f"  {line}")
    _print_table(everything)


def _left(opened: "Campaign", only: str | None) -> "Iterator[tuple[str, list[str]]]":
    """By stage, the runs that are still to be trained; those that differ in their seed alone in one line."""
    from semfocus.runs.arms import run_title, varying_keys

    for stage, specs in opened.specs_of(only):
        values = [spec.model_dump(mode="json") for spec in specs]
        keys, tasks = varying_keys(values), {spec.task for spec in specs}
        groups: dict[str, int] = {}
        for spec, plain in zip(specs, values, strict=True):
            if not opened.is_known(spec):
                title = run_title(plain, keys, tasks).rpartition(" seed ")[0]
                groups[title] = groups.get(title, 0) + 1
        yield stage.name, [f"{title}: {count_of(num, 'run')}" for title, num in groups.items()]


def _print_table(found: "list[Account]") -> None:
    from rich.table import Table

    from semfocus.campaign.account import ALL

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("stage")
    for name in ("runs", "done", "running", "failed", "left", "shared", "core-hours done", "left"):
        table.add_column(name, justify="right")
    for each in found:
        numbers = (each.runs, each.done, each.running, each.failed, each.left, _shared(each))
        hours = (f"{each.hours_done:.1f}", f"{each.hours_left:.1f}")
        style = "bold" if each.name == ALL else "dim" if not each.left + each.shared_left else ""
        table.add_row(each.name, *map(str, numbers), *hours, style=style)
    table_console().print(table)
    exported = sum(each.exported for each in found if each.name != ALL)
    shared = sum(each.shared for each in found)
    if exported:
        typer.echo(f"{count_of(exported, 'run')} of those done are in exports alone.")
    if shared:
        typer.echo(f"{count_of(shared, 'run')} of several stages count in the first of them.")


def _shared(account: "Account") -> str:
    """Runs that belong to earlier stages, and how many of them are still to be trained."""
    if not account.shared:
        return ""
    return f"{account.shared}, {account.shared_left} left" if account.shared_left else str(account.shared)
