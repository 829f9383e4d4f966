"""semfocus claims: what was claimed, by which rule it is judged, and what the runs say."""

import shlex
import textwrap
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated

import typer

from semfocus.cli.errors import explains_errors
from semfocus.cli.options import (
    JsonOption,
    MoreResults,
    ResultsOption,
    StoreOption,
    existing_store,
    exported_runs,
    parse_seeds,
    with_runs,
)
from semfocus.cli.output import print_json
from semfocus.words import count_of, number

if TYPE_CHECKING:
    from semfocus.analysis.claims import Judged
    from semfocus.runs import RunSpec

_STYLE = {"supported": "bold blue", "contradicted": "bold dark_orange", "undecided": "dim"}
#: under the text of a claim
_INDENT = " " * 13


@dataclass(frozen=True)
class Needs:
    """What would help to decide a claim: a command, how many runs of it are missing, and what they cost."""

    command: str
    runs: int
    core_hours: float

    def __str__(self) -> str:
        if not self.runs:
            return f"more than {self.command}: all its runs are here"
        hours = number(max(self.core_hours, 0.1))
        unit = "core-hour" if hours == "1" else "core-hours"
        return f"{self.command} ({count_of(self.runs, 'run')}, about {hours} {unit})"


@explains_errors
def claims(
    store: StoreOption = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Also say what would support and contradict each.")
    ] = False,
    as_json: JsonOption = False,
    results: ResultsOption = None,
    more: MoreResults = None,
) -> None:
    """Judge each claim of the paper, and our own, by written rules; of an open one say which runs it needs.

    Example: semfocus claims --rules
    Example: semfocus claims --results results
    """
    from semfocus.analysis.claims import judge_all
    from semfocus.analysis.planned import analyse_planned
    from semfocus.runs.plan import read_plans

    exported = exported_runs(results, more, store, summaries_count=True)
    if exported is None:
        opened = existing_store(store)
        records, plans = with_runs(opened, opened.records()), read_plans(opened)
    else:
        records, plans = exported
    judged = judge_all(analyse_planned(records, plans))
    ended = {record.run for record in records if record.state in ("done", "diverged")}
    needs = needs_of(judged, ended)
    if as_json:
        print_json([asdict(claim) | {"needs": _plain(needs.get(claim.name))} for claim in judged])
    else:
        _print(judged, needs, rules)


def _plain(needs: Needs | None) -> dict[str, object] | None:
    return None if needs is None else asdict(needs)


def needs_of(judged: "Iterable[Judged]", ended: Collection[str]) -> dict[str, Needs]:
    """For each claim that is not decided, what is missing of the study that it names."""
    from semfocus.studies.cost import rough_seconds

    by_study: dict[str, Needs] = {}
    found = {}
    for claim in judged:
        if claim.verdict == "undecided":
            if claim.recipe not in by_study:
                missing = [spec for spec in _specs_of(claim.recipe) if spec.digest not in ended]
                hours = sum(map(rough_seconds, missing)) / 3600
                by_study[claim.recipe] = Needs(f"semfocus study {claim.recipe}", len(missing), hours)
            found[claim.name] = by_study[claim.recipe]
    return found


@cache
def _specs_of(study: str) -> "list[RunSpec]":
    """The runs of a recipe, by its name and the options of `semfocus study` that choose among them."""
    from semfocus.study import Study

    name, *words = shlex.split(study)
    options = dict(zip(words[::2], words[1::2], strict=True))
    seeds, stop_at = options.pop("--seeds", None), options.pop("--stop-at", None)
    chosen = Study(
        name,
        seeds=None if seeds is None else parse_seeds(seeds),
        patterns=options.pop("--patterns", None),
        tasks=options.pop("--tasks", None),
        settings=None if stop_at is None else {"training.stop_at": float(stop_at)},
    )
    assert not options, f"the study of a claim has options that are not read here: {study}"
    return chosen.specs


def _print(judged: "list[Judged]", needs: "dict[str, Needs]", rules: bool) -> None:
    from rich.console import Console

    from semfocus.analysis.claims import SIZES, counted

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
        lines = list(claim.numbers)
        for place, setting in enumerate(claim.settings if len(shared) > 1 else [], start=1):
            lines.append(f"setting {place}: {setting}" if len(claim.settings) > 1 else setting)
        if claim.name in needs:
            lines.append(f"needs: {needs[claim.name]}")
        for line in lines:
            console.print(f"{_INDENT}{line}", markup=False, style="dim", soft_wrap=True)
        if rules:
            console.print(f"  supported if     {claim.supported_if}", markup=False)
            console.print(f"  contradicted if  {claim.contradicted_if}", markup=False)
            console.print(f"  run it           semfocus study {claim.recipe}", markup=False)
    if rules:
        console.print(f"\n{SIZES}", markup=False)
        return
    missing = [claim for claim in judged if not claim.numbers]
    if missing:
        console.print("\nWithout any runs:")
    for claim in missing:
        console.print(f"  {claim.text}", markup=False, soft_wrap=True)
        console.print(f"    needs: {needs[claim.name]}", markup=False, style="dim", soft_wrap=True)
    if judged:
        console.print("\nsemfocus claims --rules says what would support and contradict each.", style="dim")
