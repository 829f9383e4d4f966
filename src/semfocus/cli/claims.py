"""semfocus claims: what was claimed, by which rule it is judged, and what the runs say."""

from dataclasses import asdict
from typing import Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.json_output import print_json
from semfocus.cli.options import JsonOption, StoreOption, existing_store

_STYLE = {"supported": "bold blue", "contradicted": "bold dark_orange", "undecided": "dim"}


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
    from semfocus.report.claims import judge_all
    from semfocus.report.inside import with_probes
    from semfocus.runs.plan import read_plans
    from semfocus.studies.planned import analyse_planned

    opened = existing_store(store)
    judged = judge_all(analyse_planned(with_probes(opened, opened.records()), read_plans(opened)))
    if as_json:
        print_json([asdict(claim) for claim in judged])
        return
    from rich.console import Console

    console = Console(highlight=False)
    for claim in judged:
        console.print(f"{claim.verdict:<12} ", style=_STYLE[claim.verdict], end="")
        console.print(f"{claim.text} ({claim.size})" if claim.size else claim.text, markup=False)
        for line in claim.numbers:
            console.print(f"             {line}", markup=False, style="dim", soft_wrap=True)
        if rules:
            console.print(f"  supported if     {claim.supported_if}", markup=False)
            console.print(f"  contradicted if  {claim.contradicted_if}", markup=False)
        if rules or not claim.numbers:
            console.print(f"             semfocus study {claim.recipe}", markup=False, style="dim")
