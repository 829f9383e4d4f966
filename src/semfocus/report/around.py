"""How steep the loss is around trained models, read from the landscapes that runs hold."""

from statistics import median
from typing import TYPE_CHECKING, Any

from semfocus.counts import count_of

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory

#: of a record that `inside.with_inside` made
LANDSCAPES = "landscapes"
#: the part of a grid that is looked at, and the quantile of the differences in it
RADIUS, QUANTILE = 0.5, 95


def steepness(directory: "RunDirectory") -> list[dict[str, Any]]:
    """For every epoch and kind of grid of the training loss: the Lipschitz estimate per parameter distance, median over pairs of directions.

    Grids of another scaling, step or number of samples give other estimates: `grid` says which one it is of.
    """
    if not directory.landscapes.is_dir():
        return []
    from semfocus.runs.landscape_directory import LandscapeDirectory

    values: dict[tuple[int, str], list[float]] = {}
    for path in sorted(directory.landscapes.iterdir()):
        place = LandscapeDirectory(path)
        if not place.exists:
            continue
        spec = place.spec()
        if spec.kind != "grid" or spec.data != "train" or spec.radius < RADIUS or place.missing_rows():
            continue
        value = _estimate(place)
        if value is not None:
            kind = f"{spec.points} x {spec.points} points up to {spec.radius:g}, {count_of(spec.samples, 'sample')}, scaled by {spec.scaling}"
            values.setdefault((spec.epoch, kind), []).append(value)
    return [
        {"epoch": epoch, "grid": kind, "steepness": median(own), "grids": len(own)}
        for (epoch, kind), own in sorted(values.items())
    ]


def _estimate(place: Any) -> float | None:
    from semfocus.studies.landscape.lipschitz_estimate import lipschitz_estimate
    from semfocus.studies.landscape.result import read_grid

    grid = read_grid(place)
    return lipschitz_estimate(grid.losses, grid.axis, grid.lengths, RADIUS).distance[QUANTILE]
