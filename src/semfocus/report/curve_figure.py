"""Learning curves of one task: medians with quartile bands, and every seed for the arm one points at."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from markupsafe import Markup

from semfocus.report.lengths import LengthTable
from semfocus.report.palette import Ink
from semfocus.report.panel import BOTTOM, HEIGHT, MOST_LABELS, TOP, Panel, label_room
from semfocus.report.sampling import Record, Sampled, Values, epoch_grid, sample, with_quartiles
from semfocus.report.spread import spread
from semfocus.report.svg import Point, path
from semfocus.report.value_axis import value_axis

#: with more epochs than this dots would be a line
_MOST_LOOKS = 40
#: of labels, where nothing was asked for
NOTHING: Mapping[str, Any] = MappingProxyType({})


def curve_figure(
    title: str,
    arms: Mapping[str, Sequence[Record]],
    column: str,
    inks: Mapping[str, Ink],
    target: float,
    moments: Mapping[str, int] = NOTHING,
) -> Markup | None:
    """The panel of one quantity; None if no run has an epoch yet. `moments`: an epoch of an arm to mark upright."""
    everything = [record for records in arms.values() for record in records]
    grid = epoch_grid(everything)
    sampled = {label: sample(records, column, grid) for label, records in arms.items()}
    panel = _panel(title, "curves", sampled, grid[-1])
    if panel is None:
        return None
    text = f"{target:.0%} target" if not float(100 * target) % 1 else f"{100 * target:g}% target"
    panel.level(target, text, at_left=bool(moments))  # upright lines stand where curves rise
    _mark(panel, moments, inks)
    return with_lines(panel, sampled, grid, inks)


def length_figure(title: str, table: LengthTable, inks: Mapping[str, Ink]) -> Markup | None:
    """The panel of accuracy by length, drawn like a learning curve; a line marks the length of training."""
    sampled = {label: with_quartiles(rows) for label, rows in table.arms.items()}
    panel = _panel(title, "lengths", sampled, table.lengths[-1], unit="length")
    if panel is None:
        return None
    if table.trained_at is not None:
        panel.mark(table.trained_at, f"trained at {table.trained_at}")
    return with_lines(panel, sampled, table.lengths, inks)


def along_figure(
    title: str,
    arms: Mapping[str, tuple[Sequence[int], Sampled]],
    inks: Mapping[str, Ink],
    members: str = "layers",
    nulls: Mapping[str, Values] = NOTHING,
    moments: Mapping[str, int] = NOTHING,
) -> Markup | None:
    """The panel of a quantity along training: each arm on epochs of its own, its layers or seeds as thin lines.

    `nulls`: what noise or chance would give an arm at its epochs; `moments`: an epoch of an arm to mark upright.
    """
    rows = [row for _, arm in arms.values() for _, row in arm.seeds]
    values = [value for row in rows for value in row if value is not None]
    if not values:
        return None
    values += [value for row in nulls.values() for value in row if value is not None]
    panel = Panel(
        title,
        "along",
        last_epoch=max(epochs[-1] for epochs, _ in arms.values()),
        low=0.0,
        right=label_room(arms),
        values=value_axis(values, HEIGHT - BOTTOM, TOP),
        members=members,
    )
    _mark(panel, moments, inks)
    for label, (epochs, arm) in reversed(list(arms.items())):
        _draw(panel, label, arm, epochs, inks[label], nulls.get(label), looks=True)
    if len(arms) <= MOST_LABELS:
        _name_ends(panel, {label: arm for label, (_, arm) in arms.items()}, inks)
    return panel.drawing.markup()


def _panel(
    title: str, css_class: str, sampled: Mapping[str, Sampled], last: int, unit: str = "epoch"
) -> Panel | None:
    """An empty frame for these lines; None if they have no value at all."""
    values = [value for arm in sampled.values() for _, row in arm.seeds for value in row if value is not None]
    if not values:
        return None
    return Panel(
        title,
        css_class,
        last_epoch=last,
        low=min(0.9, math.floor(10 * min(values)) / 10),
        right=label_room(sampled),
        unit=unit,
    )


def with_lines(
    panel: Panel, sampled: Mapping[str, Sampled], grid: Sequence[int], inks: Mapping[str, Ink]
) -> Markup:
    """The drawing of a panel with a median, a band and a line a seed for every arm."""
    for label, arm in reversed(list(sampled.items())):  # the first ones end on top
        _draw(panel, label, arm, grid, inks[label])
    if len(sampled) <= MOST_LABELS:
        _name_ends(panel, sampled, inks)
    return panel.drawing.markup()


def _mark(panel: Panel, moments: Mapping[str, int], inks: Mapping[str, Ink]) -> None:
    for label, epoch in moments.items():
        panel.moment(epoch, inks[label].css_class, f"{label} reached its target accuracy at epoch {epoch}")


def _draw(
    panel: Panel,
    label: str,
    arm: Sampled,
    grid: Sequence[int],
    ink: Ink,
    null: Values | None = None,
    *,
    looks: bool = False,
) -> None:
    """`looks`: a dot at each epoch, where these are few and the line between them is not known."""

    def points(values: Values) -> list[Point | None]:
        return [
            None if value is None else panel.place(epoch, value)
            for epoch, value in zip(grid, values, strict=True)
        ]

    with panel.drawing.group(css_class=f"arm {ink.css_class}", data_arm=ink.number, data_name=label):
        panel.drawing.add("path", css_class="band", d=_band(points(arm.lower), points(arm.upper)))
        for seed, values in arm.seeds:
            line = path(points(values))
            if line:
                panel.drawing.add("path", css_class="seed", d=line, data_seed=seed)
            alone = path(points(_without_median(values, arm.median)))
            if alone:
                panel.drawing.add("path", css_class="alone", d=alone)
        if null is not None:
            panel.drawing.add("path", css_class="noise", d=path(points(null)))
        panel.drawing.add("path", css_class="median", d=path(points(arm.median)), tip=label)
        for point in filter(None, points(arm.median) if looks and len(grid) <= _MOST_LOOKS else []):
            panel.drawing.add("circle", css_class="look", cx=point[0], cy=point[1], r=2.6)


def _without_median(values: Values, median: Values) -> Values:
    """A seed's values from where there is a median no more, with the one before it so that the lines meet."""
    end = max((place for place, value in enumerate(median) if value is not None), default=0)
    if all(value is None for value in values[end + 1 :]):
        return [None] * len(values)
    return [None if place < end else value for place, value in enumerate(values)]


def _band(lower: Sequence[Point | None], upper: Sequence[Point | None]) -> str:
    there = [pair for pair in zip(lower, upper, strict=True) if pair[0] is not None]
    if not there:
        return ""
    below, above = [pair[0] for pair in there], [pair[1] for pair in there]
    return path([*above, *reversed(below)]) + "z"


def _name_ends(panel: Panel, sampled: Mapping[str, Sampled], inks: Mapping[str, Ink]) -> None:
    ends = {
        label: panel.y(last)
        for label, arm in sampled.items()
        if (last := next((value for value in reversed(arm.median) if value is not None), None)) is not None
    }
    places = spread(list(ends.values()), 12.5, TOP, HEIGHT - BOTTOM)
    for (label, y), place in zip(ends.items(), places, strict=True):
        panel.end_label(label, inks[label].css_class, y, place)
