"""semfocus claims: what was claimed, by which rule it is judged, and what the runs show."""

import re
import shlex
import textwrap
from collections.abc import Iterable, Mapping
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
    parse_setting,
    with_runs,
)
from semfocus.cli.output import print_json
from semfocus.words import count_of, number

if TYPE_CHECKING:
    from semfocus.analysis.claims import Claim
    from semfocus.runs import RunSpec
    from semfocus.runs.record import Record
    from semfocus.studies.pace import Pace

#: of such runs nothing more will come
ENDED = ("done", "diverged")
_STYLE = {"supported": "bold blue", "contradicted": "bold dark_orange", "undecided": "dim"}
#: under the text of a claim
_INDENT = " " * 13


@dataclass(frozen=True)
class Needs:
    """What would help to decide a claim: a command, how many runs of it are missing, and what they cost.

    `at_most`: some of them stop at a target, and nothing is known of how soon.
    """

    command: str
    runs: int
    core_hours: float
    at_most: bool = False

    def __str__(self) -> str:
        if not self.runs:
            return f"more than {self.command}: all its runs are here"
        hours = number(max(self.core_hours, 0.1))
        unit = "core-hour" if hours == "1" else "core-hours"
        about = "at most" if self.at_most else "about"
        return f"{self.command} ({count_of(self.runs, 'run')}, {about} {hours} {unit})"


@explains_errors
def claims(
    store: StoreOption = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Also print what would support and contradict each.")
    ] = False,
    as_json: JsonOption = False,
    results: ResultsOption = None,
    more: MoreResults = None,
) -> None:
    """Judge each claim of the paper, and our own, by written rules; for an open one report which runs it needs.

    Example: semfocus claims --rules
    Example: semfocus claims --results results
    """
    from semfocus.analysis.plans import Analysis
    from semfocus.runs.plan import read_plans

    exported = exported_runs(results, more, store, summaries_count=True)
    if exported is None:
        opened = existing_store(store)
        records, plans = with_runs(opened, opened.records()), read_plans(opened)
    else:
        records, plans = exported
    analysis = Analysis(records, plans)
    judged = analysis.judged
    needs = needs_of(judged, {record.run: record for record in records if record.state in ENDED})
    if as_json:
        print_json([_plain(claim, needs.get(claim.name, [])) for claim in judged])
    else:
        _print(judged, needs, rules, analysis.num_missing)


def _plain(claim: "Claim", needs: list[Needs]) -> dict[str, object]:
    return claim.as_values() | {"needs": [asdict(each) for each in needs]}


def needs_of(judged: "Iterable[Claim]", ended: "Mapping[str, Record]") -> dict[str, list[Needs]]:
    """For each claim that is not decided, what is missing of the studies that it names: in minutes, and at
    the paper's size.
    """
    from semfocus.studies.pace import Pace

    open_claims = [claim for claim in judged if claim.verdict == "undecided"]
    pace = Pace.of(ended) if open_claims else None
    return {
        claim.name: [
            _needs(study, ended, pace) for study in (claim.small_recipe, claim.recipe) if study and pace
        ]
        for claim in open_claims
    }


def _needs(study: str, ended: "Mapping[str, Record]", pace: "Pace") -> Needs:
    """Where all runs of a study are here and decide nothing, the same with all of the paper's seeds."""
    missing = _missing(study, ended)
    if not missing:
        more = with_all_seeds(study)
        missing = _missing(more, ended)
        study = more if missing else study
    hours = sum(map(pace.seconds, missing)) / 3600
    unknown = any(
        spec.training.stop_at is not None and pace.epochs(spec) == spec.training.epochs for spec in missing
    )
    return Needs(f"semfocus study {study}", len(missing), hours, unknown)


def _missing(study: str, ended: "Mapping[str, Record]") -> "list[RunSpec]":
    specs, measured = _runs_of(study)
    return [
        spec
        for spec in specs
        if spec.digest not in ended or not measured <= {*ended[spec.digest].measurements}
    ]


def with_all_seeds(study: str) -> str:
    """
    >>> with_all_seeds("small --tasks parity --seeds 8"), with_all_seeds("twins")
    ('small --tasks parity --seeds 10', 'twins --seeds 10')
    """
    from semfocus.runs.paper_settings import PAPER_SEEDS

    return f"{re.sub(r' --seeds [^ ]+', '', study)} --seeds {len(PAPER_SEEDS)}"


@cache
def _runs_of(study: str) -> "tuple[list[RunSpec], set[str]]":
    """The runs of a recipe, by its name and options of `semfocus study`, and the names of what is measured in them."""
    from semfocus.study import Study

    name, *words = shlex.split(study)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    changes = [parse_setting(value) for option, value in pairs if option == "-s"]
    settings = {".".join(path): value for path, value in changes}
    options = {option: value for option, value in pairs if option != "-s"}
    seeds = options.pop("--seeds", None)
    if "--stop-at" in options:
        settings["training.stop_at"] = float(options.pop("--stop-at"))
    chosen = Study(
        name,
        seeds=None if seeds is None else parse_seeds(seeds),
        patterns=options.pop("--patterns", None),
        tasks=options.pop("--tasks", None),
        settings=settings,
    )
    assert not options, f"the study of a claim has options that are not read here: {study}"
    return chosen.specs, {each.name for each in chosen.measurements}


def _needs_lines(needs: list[Needs]) -> list[str]:
    """`needs: ...` for the one in minutes, `or: ...` for the one at the paper's size."""
    return [f"{'or' if place else 'needs'}: {each}" for place, each in enumerate(needs)]


def _print(judged: "list[Claim]", needs: "dict[str, list[Needs]]", rules: bool, num_missing: int = 0) -> None:
    from rich.console import Console

    from semfocus.analysis.claims import SIZES, counted

    console = Console(highlight=False)
    with_numbers = [claim for claim in judged if claim.evidence]
    shared = list(dict.fromkeys(setting for claim in with_numbers for setting in claim.settings))
    console.print(counted(judged), markup=False)
    if num_missing:
        console.print(
            f"Of these studies {count_of(num_missing, 'planned run')} {'is' if num_missing == 1 else 'are'} not here.",
            style="dim",
        )
    if len(shared) == 1:
        console.print(f"All runs: {shared[0]}.", markup=False, style="dim")
    for claim in with_numbers if not rules else judged:
        console.print()
        console.print(f"{claim.verdict:<12} ", style=_STYLE[claim.verdict], end="")
        text = f"{claim.text} ({claim.size})" if claim.size else claim.text
        width = max(40, console.width - len(_INDENT))
        console.print(f"\n{_INDENT}".join(textwrap.wrap(text, width)), markup=False)
        lines = list(claim.numbers)
        for place, setting in enumerate(claim.settings if len(shared) > 1 else [], start=1):
            lines.append(f"setting {place}: {setting}" if len(claim.settings) > 1 else setting)
        if claim.name in needs:
            lines += _needs_lines(needs[claim.name])
        for line in lines:
            console.print(f"{_INDENT}{line}", markup=False, style="dim", soft_wrap=True)
        if rules:
            console.print(f"  supported if     {claim.supported_if}", markup=False)
            console.print(f"  contradicted if  {claim.contradicted_if}", markup=False)
            console.print(f"  run it           semfocus study {claim.recipe}", markup=False)
            if claim.small_recipe:
                console.print(f"  in minutes       semfocus study {claim.small_recipe}", markup=False)
    if rules:
        console.print(f"\n{SIZES}", markup=False)
        return
    missing = [claim for claim in judged if not claim.evidence]
    if missing:
        console.print("\nWithout any runs:")
    for claim in missing:
        console.print(f"  {claim.text}", markup=False, soft_wrap=True)
        for line in _needs_lines(needs[claim.name]):
            console.print(f"    {line}", markup=False, style="dim", soft_wrap=True)
    if judged:
        console.print("\nsemfocus claims --rules prints what would support and contradict each.", style="dim")
