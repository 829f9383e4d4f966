"""The outcome of a trial in the terminal."""

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from semfocus.report.value_axis import short
from semfocus.trial.arm import FULL, Arm
from semfocus.trial.result import TrialResult
from semfocus.trial.wording import interval


def print_result(result: TrialResult) -> None:
    """A table of the arms, then the verdict."""
    typer.echo(f"{result.model} on {result.data}")
    console = Console()
    table = Table(box=SIMPLE_HEAD)
    headings = ("loss", "rate", "ms", "steps", "seconds", "keys", "dispersion")
    table.add_column("attention", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    for arm in result.arms:
        table.add_row(*map(escape, _cells(result, arm)))
    console.print(table)
    typer.echo(
        "loss: held-out, at the end (the lowest, if it rose again); ms: of a step; steps, seconds: to the same loss,\n"
        "as a share of full attention's [95 %]; keys, dispersion: effective keys and spread of the kept scores of a query,\n"
        "in the trained models\n"
    )
    for sentence in result.sentences():
        typer.echo(sentence)


def _cells(result: TrialResult, arm: Arm) -> list[str]:
    inside = [result.inside(arm, name) for name in ("effective_keys", "dispersion")]
    ratios = (
        ["1", "1"]
        if arm == FULL
        else [
            interval(each).replace(" ", "\n", 1)
            for each in (result.verdicts[arm].steps, result.verdicts[arm].seconds)
        ]
    )
    gone, pace = result.num_diverged(arm), result.seconds_per_step(arm)
    return [
        arm.label,
        short(result.final_loss(arm))
        + (f"\n({short(result.lowest_look(arm))} lowest)" if result.rose(arm) else "")
        + (f"\n({gone} diverged)" if gone else ""),
        f"{result.rates[arm] * arm.learning_rate_scale:.2g}",
        short(None if pace is None else 1000 * pace),
        *ratios,
        *(short(values[-1][1]) if values else "-" for values in inside),
    ]
