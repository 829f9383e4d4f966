"""The `semfocus` program and its commands. Commands import what they need when they run: help stays fast."""

import io
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from semfocus import __version__
from semfocus.cli import (
    bounds,
    campaign,
    claims,
    doctor,
    evaluate,
    export,
    landscape,
    probe,
    report,
    status,
    study,
    tasks,
    train,
    trial,
)

_PYTHONS_FORMAT = warnings.formatwarning

app = typer.Typer(
    name="semfocus",
    help="Train transformers whose attention keeps only the highest-scoring keys, and see whether they learn faster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("study")(study.study)
app.command("campaign")(campaign.campaign)
app.command("status")(status.status)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("probe")(probe.probe)
app.command("landscape")(landscape.landscape)
app.command("report")(report.report)
app.command("export")(export.export)
app.command("claims")(claims.claims)
app.command("bounds")(bounds.bounds)
app.add_typer(tasks.app, name="tasks")
app.command("trial")(trial.trial)
app.command("doctor")(doctor.doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"semfocus {__version__}")
        raise typer.Exit


@app.callback()
def semfocus(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train transformers whose attention keeps only the highest-scoring keys, and see whether they learn faster."""


def main() -> None:
    """The console script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal of another alphabet shows ? for δ or ×
            stream.reconfigure(errors="replace")
    warnings.formatwarning = _in_one_line
    app()


def _in_one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """A warning of ours as a note for a reader of the terminal; others as Python prints them."""
    if Path(filename).is_relative_to(Path(__file__).parents[1]):
        return f"note: {message}\n"
    return _PYTHONS_FORMAT(message, category, filename, lineno, line)
