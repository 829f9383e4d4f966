"""What the page shows of one mechanism test."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from semfocus.analysis.statistics.rank import FEWEST_CLUSTERS, RankCorrelation
from semfocus.analysis.why.focus_layers import layers_text
from semfocus.analysis.why.measured_runs import MeasuredTask
from semfocus.report.figures import Picture
from semfocus.report.palette import Ink
from semfocus.words import count_of

#: where there is no number
MISSING = "\N{EN DASH}"
TIMES_LABEL = "epochs to target"


@dataclass(frozen=True)
class Table:
    """Plain texts, safe to escape; `caption` is what a reader opens."""

    caption: str
    columns: list[str]
    rows: list[list[str]]
    is_open: bool = False


@dataclass(frozen=True)
class WhyBlock:
    """The question above, the figures, what they say and do not say below; `name` names a file of its figures."""

    name: str
    question: str
    how: str
    figures: list[Picture]
    says: list[str]
    says_not: str
    tables: list[Table] = field(default_factory=list)
    legend: list[tuple[str, Ink]] = field(default_factory=list)


@dataclass(frozen=True)
class Why:
    """All tests of the runs of one size."""

    size: str
    num_runs: int
    tasks: list[str]
    blocks: list[WhyBlock]
    #: which comparisons of these tasks are not tested, as a sentence
    not_tested: str = ""


def arms_in(tasks: Sequence[MeasuredTask], inks: Mapping[str, Ink]) -> list[tuple[str, Ink]]:
    """For a legend: every measured arm, in the order of the inks."""
    there = {run.label for task in tasks for run in task.runs}
    return [(label, ink) for label, ink in inks.items() if label in there]


def carrying_lines(tasks: Sequence[MeasuredTask], labels: Iterable[str]) -> list[str]:
    """Which layers the numbers are of: one line, or none where nothing was measured layer by layer."""
    wanted = list(labels)
    said = []
    for task in tasks:
        found = {label: layers_text(list(task.of(label).values())) for label in wanted}
        own = [f"{layers} of {label}" for label, layers in found.items() if layers]
        said += [f"{task.task}: {', '.join(own)}"] if own else []
    return [f"Focus is carried by: {'; '.join(said)}."] if said else []


def correlation_text(found: RankCorrelation) -> str:
    """`-0.43 (95 % interval -0.90 to 0.21; 28 pairs of known order)`."""
    if found.value is None:
        return "no pair whose order is known"
    if found.low is None or found.high is None:
        certainty = (
            f"no interval: {count_of(found.num_clusters, 'task')}, at least {FEWEST_CLUSTERS} are needed"
        )
    else:
        certainty = f"95 % interval {found.low:+.2f} to {found.high:+.2f}"
    unknown = f", {found.num_unknown} unknown" if found.num_unknown else ""
    return f"{found.value:+.2f} ({certainty}; {count_of(found.num_pairs, 'pair')} of known order{unknown})"


def shown(value: float | None, form: str = ".3g") -> str:
    """A number, or a dash where there is none; infinite stays infinite."""
    if value is None or value != value:
        return MISSING
    return "\N{INFINITY}" if value == float("inf") else format(value, form)
