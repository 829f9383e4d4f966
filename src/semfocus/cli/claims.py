"""semfocus claims: what was claimed, by which rule it is judged, and what the runs say."""

import textwrap
from dataclasses import asdict
from typing import Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import JsonOption, StoreOption, existing_store, with_runs
from semfocus.cli.output import print_json

_STYLE = {"supported": "bold blue", "contradicted": "bold dark_orange", "undecided": "dim"}
#: under the text of a claim
_INDENT = " " * 13


@explains_errors
def claims(
    store: StoreOption = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Also say what would support and contradict each.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Judge each claim of the paper, and our own, by rules that were written before the data.

    Example: semfocus claims --rules
    """
    from semfocus.analysis.claims import SIZES, counted, judge_all
    from semfocus.analysis.contrasts import analyse_planned
    from semfocus.runs.plan import read_plans

    opened = existing_store(store)
    records = with_runs(opened, opened.records())
    judged = judge_all(analyse_planned(records, read_plans(opened)))
    if as_json:
        print_json([asdict(claim) for claim in judged])
        return
    from rich.console import Console

    console = Console(highlight=False)
    told = [claim for claim in judged if claim.numbers]
    shared = list(dict.fromkeys(setting for claim in told for setting in claim.settings))
    console.print(counted(judged), markup=False)
    if len(shared) == 1:
        console.print(f"All runs: {shared[0]}.", markup=False, style="dim")
    for claim in told if not rules else judged:
        console.print()
        console.print(f"{claim.verdict:<12} ", style=_STYLE[claim.verdict], end="")
        text = f"{claim.text} ({claim.size})" if claim.size else claim.text
        width = max(40, console.width - len(_INDENT))
        console.print(f"\n{_INDENT}".join(textwrap.wrap(text, width)), markup=False)
        for line in claim.numbers:
            console.print(f"{_INDENT}{line}", markup=False, style="dim", soft_wrap=True)
        for place, setting in enumerate(claim.settings if len(shared) > 1 else [], start=1):
            name = f"setting {place}: " if len(claim.settings) > 1 else ""
            console.print(f"{_INDENT}{name}{setting}", markup=False, style="dim", soft_wrap=True)
        if rules:
            console.print(f"  supported if     {claim.supported_if}", markup=False)
            console.print(f"  contradicted if  {claim.contradicted_if}", markup=False)
            console.print(f"  run it           semfocus study {claim.recipe}", markup=False)
    if rules:
        console.print(f"\n{SIZES}", markup=False)
        return
    missing = [claim for claim in judged if not claim.numbers]
    if missing:
        console.print("\nWithout any runs, and what would make them:")
    for claim in missing:
        console.print(
            f"  semfocus study {claim.recipe:<24} {claim.text}", markup=False, style="dim", soft_wrap=True
        )
    if judged:
        console.print("\nsemfocus claims --rules says what would support and contradict each.", style="dim")
