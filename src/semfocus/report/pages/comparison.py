"""What the page's template needs of each comparison, with its figures drawn."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from semfocus.analysis.tables import speedup_text
from semfocus.analysis.verdict import enough, estimate_order, pairs_text, verdict_of
from semfocus.analysis.wording import bounded, setting_of
from semfocus.measurements.lengths import LengthTable, length_table
from semfocus.measurements.twins import TwinTable, twin_table
from semfocus.report.commands import study_commands, train_command
from semfocus.report.figures import FIGURES, Picture
from semfocus.report.pages.album import Album
from semfocus.report.palette import Ink
from semfocus.report.tables import TaskTable, detail_table, task_table
from semfocus.words import count_of, percent

if TYPE_CHECKING:
    from semfocus.analysis.statistics import Speedup
    from semfocus.analysis.summaries import ArmSummary, TaskSummary
    from semfocus.runs.plan import Plan


@dataclass(frozen=True)
class Winner:
    """Who stands at the top of a task, as what, and by how much; not `sure`: by the estimate of few seeds."""

    title: str
    label: str
    ink: Ink
    text: str
    sure: bool


@dataclass(frozen=True)
class ComparisonView:
    """One task at one setting."""

    anchor: str
    task: str
    #: with the path of a file
    whole_task: str
    setting: str
    sentence: str
    winner: Winner | None
    raced: str
    ranks: list[tuple[str, list[tuple[str, Ink, str]]]]
    facts: list[str]
    notes: list[str]
    table: TaskTable
    details: TaskTable
    legend: list[tuple[str, Ink]]
    figures: Markup
    lengths: LengthTable | None
    twins: TwinTable | None
    commands: list[str]
    runs: list[tuple[str, Mapping[str, Any], str]]
    spec: dict[str, Any]


def comparison_view(
    number: int,
    summary: "TaskSummary",
    inks: Mapping[str, Ink],
    plans: Sequence["Plan"],
    album: Album,
    curves: Picture,
    one_of_several: bool = False,
) -> ComparisonView:
    """Everything about one comparison; `one_of_several`: the page has other tasks, which its command need not run."""
    comparison = summary.comparison
    records = [(label, record) for label, own in comparison.arms.items() for record in own]
    twins = twin_table(comparison.arms)
    return ComparisonView(
        anchor=f"comparison-{number}",
        task=comparison.title,
        whole_task=comparison.task,
        setting=setting_of(comparison),
        sentence=summary.sentence,
        winner=_winner(summary, inks),
        raced=_raced(summary),
        ranks=_ranks(summary, inks),
        facts=_facts(summary),
        notes=[*summary.notes, *(twins.sentences() if twins else [])],
        table=task_table(summary),
        details=detail_table(summary),
        legend=[(label, inks[label]) for label in comparison.arms],
        figures=_figures(summary, curves, inks, album),
        lengths=length_table(comparison.arms),
        twins=twins,
        commands=study_commands(
            plans,
            [str(record.get("run")) for _, record in records],
            comparison.task if one_of_several else None,
        ),
        runs=[(label, record, train_command(record)) for label, record in records],
        spec=_shared_spec([record["spec"] for _, record in records]),
    )


def _all_raced(summary: "TaskSummary") -> list[tuple["ArmSummary", "Speedup"]]:
    """Every arm with a pair of seeds, the largest estimate first."""
    raced = [(arm, arm.speedup) for arm in summary.arms if arm.speedup and arm.speedup.pairs]
    return sorted(raced, key=lambda each: estimate_order(each[1]), reverse=True)


def _winner(summary: "TaskSummary", inks: Mapping[str, Ink]) -> Winner | None:
    """The arm to name in large letters, and as what: only the largest estimate is the fastest, and only few
    seeds' is one.
    """
    raced = _all_raced(summary)
    ahead = [each for each in raced if verdict_of(each[1]) == "faster"]
    if ahead:
        arm, speedup = ahead[0]
        title = "fastest" if arm is raced[0][0] else "clearly faster"
    elif raced and not any(enough(speedup) for _, speedup in raced) and raced[0][1].is_above_one:
        arm, speedup = raced[0]
        title = f"{pairs_text(each for _, each in raced)}, no verdict; best estimate"
    else:
        return None
    return Winner(title, arm.label, inks[arm.label], speedup_text(speedup), bool(ahead))


def _raced(summary: "TaskSummary") -> str:
    """What stands where no arm is named."""
    raced = _all_raced(summary)
    if not raced:
        return "nothing to compare yet"
    if not any(arm.reached for arm in summary.arms):
        return "no run reached the target"
    if summary.num_open:
        return "no verdict: not all runs have ended"
    if any(enough(speedup) for _, speedup in raced):
        return "nobody clearly faster than full"
    return f"{pairs_text(each for _, each in raced)}, no verdict; by estimate nobody faster than full"


def _ranks(summary: "TaskSummary", inks: Mapping[str, Ink]) -> list[tuple[str, list[tuple[str, Ink, str]]]]:
    """The arms by the verdict on them against the baseline; those of few seeds by their estimates alone."""
    kinds = ("faster", "equivalent", "undecided", "slower", "above 1x", "at 1x or not known", "below 1x")
    named: dict[str, list[tuple[str, Ink, str]]] = {kind: [] for kind in kinds}
    for arm, speedup in _all_raced(summary) if any(arm.reached for arm in summary.arms) else []:
        kind: str = verdict_of(speedup)
        if not enough(speedup):
            above = speedup.is_above_one
            kind = "at 1x or not known" if above is None else "above 1x" if above else "below 1x"
        named[kind].append((arm.label, inks[arm.label], bounded(speedup)))
    return [(kind, own) for kind, own in named.items() if own]


def _facts(summary: "TaskSummary") -> list[str]:
    records = [record for own in summary.comparison.arms.values() for record in own]
    num_seeds = len({record["spec"].get("seed") for record in records})
    states = Counter(str(record.get("state")) for record in records)
    stops = {record["spec"].get("training", {}).get("stop_at") for record in records}
    facts = [count_of(num_seeds, "seed"), count_of(len(records), "run")]
    facts += [f"{count} {state}" for state, count in sorted(states.items()) if state != "done"]
    if stops <= {None}:
        facts.append("no early stop")
    else:
        where = ", ".join(percent(stop) for stop in sorted(stop for stop in stops if stop is not None))
        facts.append(f"stopped early, at {where} training accuracy")
    return facts


def _figures(summary: "TaskSummary", curves: Picture, inks: Mapping[str, Ink], album: Album) -> Markup:
    """Without scripts the overview of all tasks shows the curves."""
    names = ("curves", "survival", "lengths", "twins")
    return Markup("").join(
        album.add(curves if name == "curves" else FIGURES[name].of([summary], inks=inks), static=False)
        for name in names
    )


def _shared_spec(specs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The values that all runs of the comparison have in common, flat."""
    from semfocus.runs.arms import flat

    first, *others = [flat(spec) for spec in specs]
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in others)}
