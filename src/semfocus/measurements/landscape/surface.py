"""A computed landscape, read back: losses, how flat and how steep they are, no torch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semfocus.measurements.landscape.place import GridSpec, HessianSpec, LandscapeDirectory, grid_axis
from semfocus.runs.directory import DamagedRun
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.measurements.landscape.plan import PlannedLandscape
    from semfocus.runs.directory import RunDirectory
    from semfocus.runs.record import Record


#: a loss this little above the centre's, in nats, still counts as the same basin
NEAR = 0.1


@dataclass(frozen=True)
class Flatness:
    """`rise`: radius -> mean loss on the square ring at that radius, minus the centre's; None without a finite value.

    `near_share`: share of the grid whose loss is at most NEAR above the centre's; `lowest` with its place (x, y);
    `num_not_finite` points are in none of the means and count as not near.
    """

    centre: float
    rise: dict[float, float | None]
    near_share: float
    lowest: float
    lowest_at: tuple[float, float]
    highest: float
    num_not_finite: int


def flatness(losses: NDArray[np.float64], axis: Sequence[float]) -> Flatness:
    """Of a grid whose centre is finite; `losses[row, column]` is at y = axis[row], x = axis[column]."""
    half = len(axis) // 2
    centre = float(losses[half, half])
    if not np.isfinite(centre):
        raise ValueError(f"the loss at the centre is {centre}: the model itself has no finite loss")
    finite = np.isfinite(losses)
    row, column = divmod(int(np.argmin(np.where(finite, losses, np.inf))), len(axis))
    steps = sorted({max(1, half // 4), max(1, half // 2), half})
    return Flatness(
        centre=centre,
        rise={axis[half + each]: _mean_rise(losses, half, each, centre) for each in steps},
        near_share=float((finite & (losses <= centre + NEAR)).mean()),
        lowest=float(losses[row, column]),
        lowest_at=(axis[column], axis[row]),
        highest=float(losses[finite].max()),
        num_not_finite=int((~finite).sum()),
    )


def _mean_rise(losses: NDArray[np.float64], half: int, steps: int, centre: float) -> float | None:
    """Mean over the square ring that many steps from the centre."""
    square = losses[half - steps : half + steps + 1, half - steps : half + steps + 1]
    ring = np.concatenate([square[0], square[-1], square[1:-1, 0], square[1:-1, -1]])
    ring = ring[np.isfinite(ring)]
    return float(ring.mean()) - centre if len(ring) else None


QUANTILES = (50, 75, 95, 99)


@dataclass(frozen=True)
class LipschitzEstimate:
    """Inside abs(x), abs(y) <= radius, the edge included: at the largest radius the whole grid counts.

    `grid` is per unit of the coordinates, as in the paper; `distance` per unit of distance between the parameters.
    Both map a quantile in percent to its value; `num` differences counted, `num_left_out` had an end that is not
    finite. Without any finite difference the values are None.
    """

    radius: float
    num: int
    num_left_out: int
    grid: dict[int, float | None]
    distance: dict[int, float | None]


def lipschitz_estimate(
    losses: NDArray[np.float64],
    axis: Sequence[float],
    lengths: tuple[float, float],
    radius: float,
    quantiles: Sequence[int] = QUANTILES,
) -> LipschitzEstimate:
    """`losses[row, column]` is at y = axis[row], x = axis[column]; `lengths` are those of the two directions."""
    if losses.shape != (len(axis), len(axis)):
        raise ValueError(f"losses must be {len(axis)} x {len(axis)} as the axis is, got {losses.shape}")
    inside = np.flatnonzero(np.abs(np.asarray(axis)) <= radius * (1 + 1e-9))
    part = losses[np.ix_(inside, inside)]
    step = (axis[-1] - axis[0]) / (len(axis) - 1)
    with np.errstate(invalid="ignore"):  # inf - inf
        differences = [np.abs(np.diff(part, axis=which)).ravel() / step for which in (1, 0)]
    finite = [each[np.isfinite(each)] for each in differences]
    per_distance = [
        each / along if along > 0 else each[:0] for each, along in zip(finite, lengths, strict=True)
    ]
    num = sum(map(len, finite))
    return LipschitzEstimate(
        radius=radius,
        num=num,
        num_left_out=sum(map(len, differences)) - num,
        grid=_quantiles(np.concatenate(finite), quantiles),
        distance=_quantiles(np.concatenate(per_distance), quantiles),
    )


def lipschitz_curve(
    losses: NDArray[np.float64], axis: Sequence[float], lengths: tuple[float, float]
) -> list[LipschitzEstimate]:
    """The estimate at every radius of the grid, from one step to the whole."""
    return [lipschitz_estimate(losses, axis, lengths, radius) for radius in axis if radius > 0]


def _quantiles(values: NDArray[np.float64], wanted: Sequence[int]) -> dict[int, float | None]:
    if not len(values):
        return dict.fromkeys(wanted)
    return {each: float(value) for each, value in zip(wanted, np.percentile(values, wanted), strict=True)}


@dataclass(frozen=True)
class Grid:
    """The losses along one pair of directions: `losses[row, column]` at y = axis[row], x = axis[column].

    A loss that is not finite stays so (inf or nan): flagged in `num_not_finite`, left out of every estimate.
    """

    pair: int
    axis: list[float]
    losses: NDArray[np.float64]
    lengths: tuple[float, float]
    num_numerics: int

    @property
    def centre(self) -> float:
        half = len(self.axis) // 2
        return float(self.losses[half, half])

    @property
    def drop(self) -> float:
        """How much lower than at the model the loss is somewhere on the grid; 0 where the model is the lowest point."""
        return self.centre - self.flatness.lowest

    @cached_property
    def flatness(self) -> Flatness:
        return flatness(self.losses, self.axis)

    @cached_property
    def lipschitz(self) -> list[LipschitzEstimate]:
        return lipschitz_curve(self.losses, self.axis, self.lengths)


@dataclass(frozen=True)
class Surface:
    """All that was computed around one run at one epoch."""

    run: str
    run_spec: dict[str, Any]
    spec: dict[str, Any]
    epoch: int
    own_loss: float
    recorded_loss: float | None
    grids: list[Grid]
    eigenvalues: dict[str, Any] | None
    train_accuracy: float | None = None

    @property
    def num_not_finite(self) -> int:
        return sum(grid.flatness.num_not_finite for grid in self.grids)

    def as_plain(self) -> dict[str, Any]:
        """For JSON; losses that are not finite are written as words, as in the files."""
        return {
            "run": self.run,
            "task": self.run_spec["task"],
            "pattern": self.run_spec["pattern"],
            "seed": self.run_spec["seed"],
            "epoch": self.epoch,
            "data": self.spec["data"],
            "samples": self.spec["samples"],
            "train_accuracy": self.train_accuracy,
            "model_loss": self.own_loss,
            "recorded_loss": self.recorded_loss,
            "grids": [_plain_grid(grid) for grid in self.grids],
            "hessian": self.eigenvalues,
        }


def _plain_grid(grid: Grid) -> dict[str, Any]:
    losses = [[value if np.isfinite(value) else str(value) for value in row] for row in grid.losses.tolist()]
    return {
        "pair": grid.pair,
        "axis": grid.axis,
        "losses": losses,
        "direction_lengths": list(grid.lengths),
        "flatness": asdict(grid.flatness),
        "lipschitz": [asdict(each) for each in grid.lipschitz],
    }


def read_grid(place: "LandscapeDirectory") -> Grid:
    """The grid of a finished landscape."""
    spec, rows = place.spec(), place.rows()
    assert spec.kind == "grid"
    missing = place.missing_rows()
    if missing:
        raise ValueError(f"landscape {place.name} lacks {len(missing)} of its {spec.points} rows")
    first, second = place.about()["facts"]["lengths"]
    losses = np.array([rows[row] for row in range(spec.points)], dtype=np.float64)
    axis = grid_axis(spec.points, spec.radius)
    return Grid(spec.pair, axis, losses, (first, second), len(place.numerics()))


def read_landscape(planned: "PlannedLandscape") -> Surface:
    """What a plan came to, after the survey."""
    about = planned.places[0].about()
    return Surface(
        run=planned.run.name,
        run_spec=about["run_spec"],
        spec=about["spec"],
        epoch=planned.epoch,
        own_loss=planned.own_loss,
        recorded_loss=planned.recorded_loss,
        grids=[read_grid(place) for place in planned.grids],
        eigenvalues=None if planned.hessian is None else planned.hessian.eigenvalues(),
        train_accuracy=planned.train_accuracy,
    )


#: the part of a grid that `steepness` looks at, and the quantile of the differences in it
RADIUS, QUANTILE = 0.5, 95


def steepness(record: "Record") -> list[dict[str, Any]]:
    """For every epoch and kind of grid of the training loss: the Lipschitz estimate per parameter distance.

    It is the median over pairs of directions. Grids of another scaling, step or number of samples give other
    estimates: `grid` says which one it is of. What cannot be read is left out.
    """
    return [row for row in landscape_rows(record) if "steepness" in row]


def landscape_rows(record: "Record") -> list[dict[str, Any]]:
    """The numbers of all landscapes of a run: its steepness, and the extreme eigenvalues of each Hessian.

    A residual says how far an eigenvalue may be off. What cannot be read is left out.
    """
    given = record.measurements.given(_NAME)
    if given or record.directory is None:
        return given
    try:
        return [*_steepness(record.directory), *_curvature(record.directory)]
    except (DamagedRun, OSError):
        return []


def _places(directory: "RunDirectory") -> list[LandscapeDirectory]:
    if not directory.landscapes.is_dir():
        return []
    found = map(LandscapeDirectory, sorted(directory.landscapes.iterdir()))
    return [place for place in found if place.exists]


def _curvature(directory: "RunDirectory") -> list[dict[str, Any]]:
    rows = []
    for place in _places(directory):
        spec, found = place.spec(), place.eigenvalues()
        if isinstance(spec, HessianSpec) and found is not None:
            ends = {
                f"{end}_{what}": found[key][0]
                for end in ("largest", "smallest")
                for what, key in (("eigenvalue", end), ("residual", f"{end}_residuals"))
            }
            samples = count_of(spec.samples, "sample")
            rows.append({"epoch": spec.epoch, "hessian": f"{samples} of {spec.data} data", **ends})
    return rows


def _steepness(directory: "RunDirectory") -> list[dict[str, Any]]:
    values: dict[tuple[int, str], list[float]] = {}
    for place in _places(directory):
        spec = place.spec()
        if (
            not isinstance(spec, GridSpec)
            or spec.data != "train"
            or spec.radius < RADIUS
            or place.missing_rows()
        ):
            continue
        grid = read_grid(place)
        value = lipschitz_estimate(grid.losses, grid.axis, grid.lengths, RADIUS).distance[QUANTILE]
        if value is not None:
            samples = count_of(spec.samples, "sample")
            kind = f"{spec.points} x {spec.points} points up to {spec.radius:g}, {samples}, scaled by {spec.scaling}"
            values.setdefault((spec.epoch, kind), []).append(value)
    return [
        {"epoch": epoch, "grid": kind, "steepness": median(own), "grids": len(own)}
        for (epoch, kind), own in sorted(values.items())
    ]


_NAME = "landscape"
