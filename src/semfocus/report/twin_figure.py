"""How far twin runs get from each other along training: a line a seed, the median and quartiles of each arm."""

import math
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from semfocus.report.curve_figure import with_lines
from semfocus.report.palette import Ink
from semfocus.report.panel import BOTTOM, HEIGHT, TOP, Panel, label_room
from semfocus.report.sampling import MOST_POINTS, Sampled, with_quartiles
from semfocus.report.scales import Logarithmic
from semfocus.report.twins import TwinTable

#: column of the rows -> what stands above its panel
FIGURES = {
    "relative_distance": "one sample replaced: distance of parameters / norm",
    "held_out_loss": "one sample replaced: change of held-out loss",
    "train_loss": "one sample replaced: change of training loss",
}
#: epochs at which the bound is computed, beside the first
_LOOKS = 40


def twin_figures(table: TwinTable, inks: Mapping[str, Ink]) -> list[Markup]:
    """A panel for each of FIGURES that has a value."""
    found = [twin_figure(title, table, column, inks) for column, title in FIGURES.items()]
    found.append(bound_figure(table, inks))
    return [figure for figure in found if figure is not None]


def bound_figure(table: TwinTable, inks: Mapping[str, Ink]) -> Markup | None:
    """The bound of the theory along training, with observed numbers in it; at 1 it says nothing."""
    last = table.epochs[-1]
    epochs = sorted({round(last * share / _LOOKS) for share in range(_LOOKS + 1)})
    sampled = {label: with_quartiles(rows) for label, rows in table.bounds(epochs).items()}
    return _panel("stability bound / largest loss: a guide", sampled, epochs, inks)


def twin_figure(title: str, table: TwinTable, column: str, inks: Mapping[str, Ink]) -> Markup | None:
    """One quantity on a logarithmic axis; None if the twins never part."""
    epochs = table.epochs
    step = max(1, math.ceil(len(epochs) / MOST_POINTS))
    places = sorted({*range(0, len(epochs), step), len(epochs) - 1})
    sampled = {
        label: with_quartiles([(seed, [values[place] for place in places]) for seed, values in rows])
        for label, rows in table.curves(column).items()
    }
    return _panel(title, sampled, [epochs[place] for place in places], inks)


def _panel(
    title: str, sampled: Mapping[str, Sampled], epochs: Sequence[int], inks: Mapping[str, Ink]
) -> Markup | None:
    values = [value for arm in sampled.values() for _, row in arm.seeds for value in row if value is not None]
    if not values:
        return None
    panel = Panel(
        title,
        "twins",
        last_epoch=epochs[-1],
        low=0.0,
        right=label_room(sampled),
        values=Logarithmic(min(values) / 1.2, max(values) * 1.2, HEIGHT - BOTTOM, TOP),
    )
    return with_lines(panel, sampled, epochs, inks)
