"""The page about loss landscapes: maps, surfaces to turn, steepness and curvature of several runs side by side."""

import json
import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from semfocus import __version__
from semfocus.counts import count_of
from semfocus.durable import write_text
from semfocus.report.colour_ramp import ColourRamp, colour
from semfocus.report.landscape_curves import lipschitz_panels
from semfocus.report.landscape_map import colour_legend
from semfocus.report.landscape_maps import (
    TITLE,
    maps_by_pair,
    place_on_the_page,
    run_names,
    shared_ramp,
    task_titles,
)
from semfocus.report.palette import inks
from semfocus.report.templating import environment, style_and_script
from semfocus.report.texts import shortened, visible
from semfocus.runs.record import TARGET_ACCURACY
from semfocus.studies.arms import GROUPS, arm_of
from semfocus.studies.wording import percent

if TYPE_CHECKING:
    from semfocus.studies.landscape.result import Grid, Landscape

#: points a side of a surface that is turned by hand; a finer grid is thinned out
_MOST_POINTS = 61


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
    ramp = shared_ramp(landscapes)
    labels = [arm.label for arm in arms]
    titles = task_titles(landscapes)
    pages = environment()
    pages.filters["number"] = _number
    return pages.get_template("landscape").render(
        title=TITLE,
        version=__version__,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **style_and_script(chosen.values(), "landscape.js", "landscape.css"),
        data=_data_block(landscapes, names, ramp),
        found=list(zip(landscapes, names, labels, strict=True)),
        tasks=sorted(titles.values()),
        titles=titles,
        inks=chosen,
        maps=maps_by_pair(landscapes, names, ramp),
        ramp=ramp,
        legend=colour_legend(ramp, ramp.ticks()),
        slopes={unit: lipschitz_panels(landscapes, labels, chosen, unit) for unit in ("grid", "distance")},
        facts=_common(landscapes),
        cautions=_cautions(landscapes, names),
        command=command,
        not_finite=sum(each.num_not_finite for each in landscapes if each.grids),
    )


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


def _data_block(landscapes: Sequence["Landscape"], names: Sequence[str], ramp: ColourRamp) -> Markup:
    """The numbers that the script draws from; nothing in it can end the block or is a program."""
    data = {
        "low": ramp.low,
        "high": ramp.high,
        "logarithmic": ramp.logarithmic,
        "colours": [colour(place / 63) for place in range(64)],
        "ticks": ramp.ticks(),
        "surfaces": [
            {"name": visible(name), "pair": grid.pair, **_thinned(grid)}
            for each, name in zip(landscapes, names, strict=True)
            for grid in each.grids
        ],
    }
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


def _thinned(grid: "Grid") -> dict[str, Any]:
    """Every n-th point from the centre outwards, the edge included only where n divides the half."""
    half = len(grid.axis) // 2
    every = math.ceil(2 * half / (_MOST_POINTS - 1))
    places = [half + step for step in range(-(half // every) * every, half + 1, every)]
    return {
        "radius": grid.axis[places[-1]],
        "losses": [
            [
                float(f"{value:.4g}") if math.isfinite(value) else None
                for value in grid.losses[row, places].tolist()
            ]
            for row in places
        ],
    }


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
