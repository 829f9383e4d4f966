"""What the page of probes needs of its runs, with its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semfocus.probes.names import QUESTIONS, Quantity, question_of
from semfocus.report.figures import FIGURES, Picture
from semfocus.report.palette import Ink
from semfocus.report.probed import Probed, ProbedRun, Row, as_if

PART_NAMES = {"train": "training data", "held_out": "held-out data"}


@dataclass(frozen=True)
class Answer:
    """One quantity: the question, the figure, how to read it."""

    asks: str
    unit: str
    figure: Picture
    reading: str
    #: whether the question is one of the catalogue, not made up of the quantity's name
    is_known: bool


def series_groups(labels: Mapping[str, str], runs: Sequence[ProbedRun]) -> dict[str, str]:
    """Every run, and after it every other pattern on its scores, with the group that decides its hue."""
    from semfocus.runs.arms import arm_of

    found = {}
    for (label, group), run in zip(labels.items(), runs, strict=True):
        found[label] = group
        for pattern in _counterfactuals(run):
            found[as_if(label, pattern)] = arm_of({"pattern": pattern}).group
    return found


def _counterfactuals(run: ProbedRun) -> list[str]:
    return list(dict.fromkeys(row["pattern"] for row in run.rows if row["counterfactual"]))


def answers(probed: Probed, labels: Sequence[str], part: str, inks: Mapping[str, Ink]) -> list[Answer]:
    """A figure for each quantity that any run has on this part of its data, questions of the catalogue first."""
    named = {row["quantity"] for run in probed.runs for row in run.rows if row["data"] == part}
    order = [
        *(each for each in QUESTIONS if each in named),
        *(each for each in probed.quantities if each in named),
    ]
    found = []
    for name in dict.fromkeys([*order, *sorted(named)]):
        series: dict[str, list[Row]] = {}
        for label, run in zip(labels, probed.runs, strict=True):
            own = [row for row in run.rows if (row["quantity"], row["data"]) == (name, part)]
            for row in own:
                key = as_if(label, row["pattern"]) if row["counterfactual"] else label
                series.setdefault(key, []).append(row)
        quantity = probed.quantities.get(name) or Quantity(name, "", "query", "")
        question = question_of(name, quantity.meaning)
        figure = FIGURES["layers"].of(series, inks=inks)
        if len(figure.frame):
            found.append(Answer(question.asks, quantity.unit, figure, question.reading, name in QUESTIONS))
    return found


def map_rows(probed: Probed, labels: Sequence[str], inks: Mapping[str, Ink]) -> list[list[Picture]]:
    """Maps of one layer and head beside each other, one for each run; of a single run all in one row."""
    there = [(label, run.maps) for label, run in zip(labels, probed.runs, strict=True) if run.maps]
    places = sorted({(each["layer"], each["head"]) for _, maps in there for each in maps["maps"]})
    rows = [
        [
            FIGURES["attention-map"].of(label, each, maps, inks=inks)
            for label, maps in there
            for each in maps["maps"]
            if (each["layer"], each["head"]) == place
        ]
        for place in places
    ]
    return [[figure for row in rows for figure in row]] if len(there) == 1 else rows
