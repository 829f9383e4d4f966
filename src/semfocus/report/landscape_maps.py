"""The maps of several loss landscapes side by side, in one scale of colours; alone in a file for a paper."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from semfocus.durable import write_text
from semfocus.report.colour_ramp import ColourRamp, ramp_of
from semfocus.report.landscape_map import colour_legend, landscape_map
from semfocus.report.sheet import sheet
from semfocus.report.texts import shortened
from semfocus.runs.task_title import task_title
from semfocus.studies.arms import GROUPS, arm_of
from semfocus.studies.wording import percent

if TYPE_CHECKING:
    from semfocus.studies.landscape.result import Landscape

TITLE = "How does the loss look around the model?"
#: in a row of a file
_MOST_IN_ROW = 4


def write_landscape_maps(landscapes: Sequence["Landscape"], path: str | os.PathLike[str]) -> Path:
    """The maps alone, as one SVG file: a row for each task and pair of directions, if a row has room for them."""
    landscapes = sorted(landscapes, key=place_on_the_page)
    ramp = shared_ramp(landscapes)
    maps = [
        figure for _, figures in maps_by_pair(landscapes, run_names(landscapes), ramp) for figure in figures
    ]
    if not maps:
        raise ValueError("there is no grid to draw: --pairs must be at least 1")
    in_row = Counter(str(each.run_spec["task"]) for each in landscapes).most_common(1)[0][1]
    columns = in_row if 1 < in_row <= _MOST_IN_ROW else min(len(maps), 3)
    figures = [*maps, colour_legend(ramp, ramp.ticks())]
    return write_text(path, sheet(TITLE, figures, [], [], columns))


def maps_by_pair(
    landscapes: Sequence["Landscape"], names: Sequence[str], ramp: ColourRamp
) -> list[tuple[int, list[Markup]]]:
    """The maps of all runs, for each pair of directions."""
    pairs = sorted({grid.pair for each in landscapes for grid in each.grids})
    return [
        (
            pair,
            [
                landscape_map(_title(each, name), _below(each), grid, ramp)
                for each, name in zip(landscapes, names, strict=True)
                for grid in each.grids
                if grid.pair == pair
            ],
        )
        for pair in pairs
    ]


def place_on_the_page(landscape: "Landscape") -> tuple[str, int, str, int, int]:
    """Task by task, the baseline first."""
    spec, arm = landscape.run_spec, arm_of(landscape.run_spec)
    return str(spec["task"]), GROUPS.index(arm.group), arm.label, spec["seed"], landscape.epoch


def run_names(landscapes: Sequence["Landscape"]) -> list[str]:
    """What tells the runs of the page apart: pattern, then task, seed, epoch and digest as far as they differ."""
    titles = task_titles(landscapes)
    facts = [
        [
            arm_of(each.run_spec).label,
            titles[each.run_spec["task"]],
            f"seed {each.run_spec['seed']}",
            f"epoch {each.epoch}",
        ]
        for each in landscapes
    ]
    shown = [
        [fact for place, fact in enumerate(row) if place == 0 or len({other[place] for other in facts}) > 1]
        for row in facts
    ]
    names = [", ".join(row) for row in shown]
    repeated = {name for name, count in Counter(names).items() if count > 1}
    return [
        f"{name}, {each.run[:8]}" if name in repeated else name
        for name, each in zip(names, landscapes, strict=True)
    ]


def task_titles(landscapes: Sequence["Landscape"]) -> dict[str, str]:
    """For every task, how it is shown."""
    tasks = {str(each.run_spec["task"]) for each in landscapes}
    return {task: task_title(task, tasks) for task in tasks}


def shared_ramp(landscapes: Sequence["Landscape"]) -> ColourRamp:
    """One scale for all of them, so that equal colours are equal losses."""
    return ramp_of(
        float(value) for each in landscapes for grid in each.grids for value in grid.losses.ravel()
    )


def _title(landscape: "Landscape", name: str) -> str:
    return shortened(name.removesuffix(f", epoch {landscape.epoch}"), 38)


def _below(landscape: "Landscape") -> str:
    accuracy = landscape.train_accuracy
    return f"epoch {landscape.epoch}" + (
        "" if accuracy is None else f", training accuracy {percent(accuracy)}"
    )
