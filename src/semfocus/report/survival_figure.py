"""Which share of the seeds has not reached the target yet, epoch by epoch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from semfocus.report.palette import Ink
from semfocus.report.panel import BOTTOM, HEIGHT, MOST_LABELS, TOP, Panel, label_room
from semfocus.report.spread import spread
from semfocus.report.svg import Point, path


@dataclass(frozen=True)
class Steps:
    """A survival curve: after each time the share that is left; `censored` are the times at which seeds were lost sight of."""

    times: Sequence[float]
    left: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    censored: Sequence[float]
    end: float


def survival_figure(
    title: str, arms: Mapping[str, Steps], inks: Mapping[str, Ink], last_epoch: int
) -> Markup | None:
    """Steps from 100 % down; a small upright tick is a seed that had not reached the target when its run ended."""
    if not arms:
        return None
    panel = Panel(title, "survival", last_epoch=last_epoch, low=0.0, right=label_room(arms))
    for label, steps in reversed(list(arms.items())):
        ink = inks[label]
        with panel.drawing.group(css_class=f"arm {ink.css_class}", data_arm=ink.number, data_name=label):
            low, high = _staircase(panel, steps, steps.low), _staircase(panel, steps, steps.high)
            panel.drawing.add("path", css_class="band confidence", d=path([*high, *reversed(low)]) + "z")
            panel.drawing.add(
                "path", css_class="median", d=path(_staircase(panel, steps, steps.left)), tip=label
            )
            for time in steps.censored:
                x, y = panel.place(time, _left_at(steps, time))
                panel.drawing.add("line", css_class="censored", x1=x, x2=x, y1=y - 4, y2=y + 4)
    _name_those_left(panel, arms, inks)
    return panel.drawing.markup()


def _name_those_left(panel: Panel, arms: Mapping[str, Steps], inks: Mapping[str, Ink]) -> None:
    """Names at the right for arms of which some seeds never got there; the others meet at 0."""
    ends = {
        label: panel.y(_left_at(steps, steps.end))
        for label, steps in arms.items()
        if _left_at(steps, steps.end) > 0
    }
    if len(ends) <= MOST_LABELS:
        for (label, y), place in zip(
            ends.items(), spread(list(ends.values()), 12.5, TOP, HEIGHT - BOTTOM), strict=True
        ):
            panel.end_label(label, inks[label].css_class, y, place)


def _staircase(panel: Panel, steps: Steps, shares: Sequence[float]) -> list[Point | None]:
    points: list[Point | None] = [panel.place(0, 1.0)]
    here = 1.0
    for time, share in zip(steps.times, shares, strict=True):
        points += [panel.place(time, here), panel.place(time, share)]
        here = share
    return [*points, panel.place(steps.end, here)]


def _left_at(steps: Steps, time: float) -> float:
    return next(
        (
            share
            for when, share in zip(reversed(steps.times), reversed(steps.left), strict=True)
            if when <= time
        ),
        1.0,
    )
