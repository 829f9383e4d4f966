"""The outcome of a trial in the terminal."""

from itertools import compress

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from semfocus.trial.result import TrialResult
from semfocus.trial.spec import FULL, Arm
from semfocus.trial.wording import interval
from semfocus.words import percent, short

#: broken where a terminal of 80 columns has no room for the word
_HEADINGS = ("loss", "right", "rate", "ms", "steps", "seconds", "keys", "disper-\nsion")


def print_result(result: TrialResult) -> None:
    """The decision, a table of the arms, then the evidence in words."""
    typer.secho(result.decision().text, bold=True)
    typer.echo(f"{result.model} on {result.data}")
    rates = {_rate(result, arm) for arm in result.arms}
    shown = [True, result.has_accuracy, len(rates) > 1, *[True] * 5]
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("attention", no_wrap=True)
    for heading in compress(_HEADINGS, shown):
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())))
    for arm in result.arms:
        table.add_row(escape(arm.label), *map(escape, compress(_cells(result, arm), shown)))
    Console().print(table)
    typer.echo(_footnote(result, rates))
    for sentence in result.sentences():
        typer.echo(sentence)


def _footnote(result: TrialResult, rates: set[str]) -> str:
    right = ""
    if result.has_accuracy and result.guess_accuracy is not None:
        right = (
            "right: held-out accuracy at the end, mean over seeds (always the most frequent label: "
            f"{percent(result.guess_accuracy)})\n"
        )
    rate = f"; learning rate {min(rates)}" * (len(rates) == 1)
    return (
        f"loss: held-out, at the end (the lowest, if it rose again){rate}\n{right}"
        "ms: of a step; steps, seconds: to the same loss, as a share of full attention's [95 %]\n"
        "keys, dispersion: effective keys and spread of the kept scores of a query, in the trained models\n"
    )


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
    gone, pace, accuracy = result.num_diverged(arm), result.seconds_per_step(arm), result.accuracy(arm)
    return [
        short(result.final_loss(arm))
        + (f"\n({short(result.lowest_look(arm))} lowest)" if result.rose(arm) else "")
        + (f"\n({gone} diverged)" if gone else ""),
        "-" if accuracy is None else percent(accuracy),
        _rate(result, arm),
        short(None if pace is None else 1000 * pace),
        *ratios,
        *(short(values[-1][1]) if values else "-" for values in inside),
    ]


def _rate(result: TrialResult, arm: Arm) -> str:
    return f"{result.rates[arm] * arm.learning_rate_scale:.2g}"
