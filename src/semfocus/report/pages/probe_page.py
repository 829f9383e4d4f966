"""What happens inside trained models, as one HTML page that needs nothing but itself."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from semfocus.analysis.times import perplexities
from semfocus.analysis.wording import UNKNOWN
from semfocus.durable import write_text
from semfocus.probes.names import QUESTIONS, Quantity, question_of
from semfocus.report.along_view import along_lines, along_sentences
from semfocus.report.figures import FIGURES, Picture
from semfocus.report.pages.album import Album
from semfocus.report.pages.template import render
from semfocus.report.palette import Ink, inks
from semfocus.report.probed_runs import Probed, ProbedRun, Row, as_if, run_labels
from semfocus.runs.arms import arm_of, task_title, tasks_of
from semfocus.runs.outcome import TARGET_ACCURACY, is_text
from semfocus.words import count_of, percent, short

TITLE = "What happens inside these models?"
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


def write_probe_page(probed: Probed, path: str | os.PathLike[str], *, title: str = TITLE) -> Path:
    """Write the page and return its path."""
    return write_text(path, probe_page(probed, title=title))


def probe_page(probed: Probed, *, title: str = TITLE) -> str:
    """The page as text."""
    labels = run_labels(probed.runs)
    tasks = tasks_of(run.record for run in probed.runs)
    groups = series_groups(labels, probed.runs)
    chosen = inks({**labels, **groups})  # the runs first: theirs are the plain shades of each hue
    rows = [row for run in probed.runs for row in run.rows]
    parts = [part for part in ("held_out", "train") if any(row["data"] == part for row in rows)]
    along_parts = {row["data"] for run in probed.runs for row in run.along}
    along_part = "held_out" if "held_out" in along_parts else "train"
    album = Album(chosen)

    def drawn(answer: Answer) -> tuple[Answer, Markup]:
        return answer, album.add(answer.figure)

    along = FIGURES["along"].of(along_lines(probed, list(labels), along_part, TARGET_ACCURACY), inks=chosen)
    return render(
        "probe",
        album,
        chosen,
        title=title,
        runs=[_facts(label, run, tasks) for label, run in zip(labels, probed.runs, strict=True)],
        legend=[(label, chosen[label]) for label in groups],
        hollow=len(groups) > len(labels),
        run_legend=[(label, chosen[label]) for label in labels],
        measures=sorted({measure_of(run) for run in probed.runs}),
        parts=[
            (
                PART_NAMES[part],
                _samples(rows, part),
                list(map(drawn, answers(probed, list(labels), part, chosen))),
            )
            for part in parts
        ],
        along=album.add(along),
        along_part=PART_NAMES[along_part],
        along_sentences=along_sentences(probed, list(labels), along_part, TARGET_ACCURACY),
        maps=[Markup("").join(map(album.add, row)) for row in map_rows(probed, list(labels), chosen)],
        target=TARGET_ACCURACY,
        along_missing=[label for label, run in zip(labels, probed.runs, strict=True) if not run.along],
        sequences=[(label, run.maps) for label, run in zip(labels, probed.runs, strict=True) if run.maps],
        quantities=[
            each
            for each in probed.quantities.values()
            if any(row["quantity"] == each.name for run in probed.runs for row in (*run.rows, *run.along))
        ],
        command=probed.command,
    )


def measure_of(run: ProbedRun) -> str:
    """In what one says how much a run has learned."""
    return "perplexity" if is_text(str(run.record["spec"].get("task"))) else "accuracy"


def _learned(run: ProbedRun, part: str, at: int) -> str:
    by_loss = measure_of(run) == "perplexity"
    value = run.record["curve"][f"{part}_loss" if by_loss else f"{part}_accuracy"][at]
    if value is None:
        return UNKNOWN
    return short(perplexities([value])[0]) if by_loss else percent(value)


def _samples(rows: list[Mapping[str, Any]], part: str) -> str:
    found = sorted({row["samples"] for row in rows if row["data"] == part})
    most = count_of(max(found, default=0), "sequence")
    return f"{found[0]} to {most}" if len(found) > 1 else most


def _facts(label: str, run: ProbedRun, tasks: Collection[str]) -> dict[str, Any]:
    """The line of a run in the table at the top."""
    curve = run.record.get("curve") or {}
    epochs = curve.get("epoch", [])
    at = epochs.index(run.epoch) if run.epoch in epochs else None
    spec = run.record["spec"]
    return {
        "label": label,
        "run": run.record.get("run"),
        "task": task_title(spec.get("task"), tasks),
        "whole_task": spec.get("task"),
        "seed": spec.get("seed", UNKNOWN),
        "epoch": UNKNOWN if run.epoch is None else run.epoch,
        "measure": measure_of(run),
        "train": UNKNOWN if at is None else _learned(run, "train", at),
        "held_out": UNKNOWN if at is None else _learned(run, "held_out", at),
        "problems": run.problems,
    }


def series_groups(labels: Mapping[str, str], runs: Sequence[ProbedRun]) -> dict[str, str]:
    """Every run, and after it every other pattern on its scores, with the group that decides its hue."""
    found = {}
    for (label, group), run in zip(labels.items(), runs, strict=True):
        found[label] = group
        for pattern in _counterfactuals(run):
            found[as_if(label, pattern)] = arm_of({"pattern": pattern}).group
    return found


def _counterfactuals(run: ProbedRun) -> list[str]:
    return list(dict.fromkeys(row["pattern"] for row in run.rows if row["counterfactual"]))


def answers(probed: Probed, labels: Sequence[str], part: str, chosen: Mapping[str, Ink]) -> list[Answer]:
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
        figure = FIGURES["layers"].of(series, inks=chosen)
        if len(figure.frame):
            found.append(Answer(question.asks, quantity.unit, figure, question.reading, name in QUESTIONS))
    return found


def map_rows(probed: Probed, labels: Sequence[str], chosen: Mapping[str, Ink]) -> list[list[Picture]]:
    """Maps of one layer and head beside each other, one for each run; of a single run all in one row."""
    there = [(label, run.maps) for label, run in zip(labels, probed.runs, strict=True) if run.maps]
    places = sorted({(each["layer"], each["head"]) for _, maps in there for each in maps["maps"]})
    rows = [
        [
            FIGURES["attention-map"].of(label, each, maps, inks=chosen)
            for label, maps in there
            for each in maps["maps"]
            if (each["layer"], each["head"]) == place
        ]
        for place in places
    ]
    return [[figure for row in rows for figure in row]] if len(there) == 1 else rows
