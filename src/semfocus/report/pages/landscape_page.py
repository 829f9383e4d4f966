"""The page about loss landscapes: maps, cuts, steepness and curvature of several runs side by side."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from semfocus.durable import write_text
from semfocus.report.figures import FIGURES
from semfocus.report.figures.loss_maps import levels_of, place_on_the_page, run_names, task_titles
from semfocus.report.pages.album import Album
from semfocus.report.pages.template import render
from semfocus.report.palette import inks
from semfocus.runs.arms import GROUPS, arm_of
from semfocus.runs.outcome import TARGET_ACCURACY
from semfocus.words import count_of, percent, shortened

if TYPE_CHECKING:
    from semfocus.measurements.landscape.surface import Surface as Landscape

TITLE = "How does the loss look around the model?"


def write_landscape_page(
    landscapes: Sequence["Landscape"], path: str | os.PathLike[str], command: str = ""
) -> Path:
    """Write the page and return its path; `command` makes it again."""
    return write_text(path, landscape_page(landscapes, command))


def landscape_page(landscapes: Sequence["Landscape"], command: str = "") -> str:
    """The page as text, which needs nothing but itself."""
    landscapes = sorted(landscapes, key=place_on_the_page)
    arms = [arm_of(each.run_spec) for each in landscapes]
    order = sorted({(GROUPS.index(arm.group), arm.label, arm.group) for arm in arms})
    chosen = inks({label: group for _, label, group in order})
    names = run_names(landscapes)
    labels = [arm.label for arm in arms]
    titles = task_titles(landscapes)
    album = Album(chosen)
    has_grids = any(each.grids for each in landscapes)
    return render(
        "landscape",
        album,
        chosen,
        title=TITLE,
        legend=list(chosen.items()),
        found=list(zip(landscapes, names, labels, strict=True)),
        tasks=sorted(titles.values()),
        titles=titles,
        num_pairs=len({grid.pair for each in landscapes for grid in each.grids}),
        maps=album.add(FIGURES["surface"].of(landscapes)) if has_grids else "",
        is_log=levels_of(landscapes)[1],
        cuts=album.add(FIGURES["cuts"].of(landscapes, inks=chosen)) if has_grids else "",
        slopes={
            unit: album.add(FIGURES["slopes"].of(landscapes, unit, inks=chosen))
            for unit in ("grid", "distance")
        },
        facts=_common(landscapes),
        cautions=_cautions(landscapes, names),
        command=command,
        not_finite=sum(each.num_not_finite for each in landscapes if each.grids),
    )


def write_landscape_maps(landscapes: Sequence["Landscape"], path: str | os.PathLike[str]) -> Path:
    """The maps alone, as one SVG, PDF or PNG file."""
    if not any(each.grids for each in landscapes):
        raise ValueError("there is no grid to draw: --pairs must be at least 1")
    return FIGURES["surface"].of(landscapes).save(path)


def _cautions(landscapes: Sequence["Landscape"], names: Sequence[str]) -> list[str]:
    """Of models that are in no basin, or have not learned: what a flat map of them does not mean."""
    found = []
    for each, name in zip(landscapes, names, strict=True):
        said = []
        accuracy = each.train_accuracy
        if accuracy is not None and accuracy < TARGET_ACCURACY:
            said.append(
                f"has not learned its task (training accuracy {percent(accuracy)}): a flat place is not a basin"
            )
        lower = max(each.grids, key=lambda grid: grid.drop, default=None)
        if lower is not None and lower.drop > 0:
            x, y = lower.flatness.lowest_at
            where = f"({_number(x)}, {_number(y)})" + f" of pair {lower.pair + 1}" * (len(each.grids) > 1)
            said.append(
                f"is not at a minimum: at {where} the loss is {_number(lower.drop)} lower than at the model"
            )
        if said:
            found.append(f"{shortened(name, 60)} {'; it '.join(said)}.")
    return found


def _common(landscapes: Sequence["Landscape"]) -> list[tuple[str, str]]:
    """What the landscapes have in common, for the reader who wants to repeat them."""
    specs = [each.spec for each in landscapes]
    wanted = {
        "grid": lambda spec: f"{spec['points']} x {spec['points']}" if "points" in spec else None,
        "radius": lambda spec: spec.get("radius"),
        "scaling of the directions": lambda spec: spec.get("scaling"),
        "data": lambda spec: count_of(spec["samples"], f"{spec['data'].replace('_', '-')} sample"),
    }
    found = []
    for name, get in wanted.items():
        values = sorted({str(get(spec)) for spec in specs if get(spec) is not None})
        if values:
            found.append((name, ", ".join(values)))
    return found


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.3g}"
