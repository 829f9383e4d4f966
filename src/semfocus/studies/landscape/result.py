"""A computed landscape, read back: plain numbers, no torch."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semfocus.runs.landscape_spec import grid_axis
from semfocus.studies.landscape.flatness import Flatness, flatness
from semfocus.studies.landscape.lipschitz_estimate import LipschitzEstimate, lipschitz_curve

if TYPE_CHECKING:
    from semfocus.runs.landscape_directory import LandscapeDirectory
    from semfocus.studies.landscape.plan import PlannedLandscape


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
class Landscape:
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


def read_landscape(planned: "PlannedLandscape") -> Landscape:
    """What a plan came to, after the survey."""
    about = planned.places[0].about()
    return Landscape(
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
