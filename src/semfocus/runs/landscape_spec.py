"""A loss landscape as a value: everything that decides its numbers, and the digest that names it."""

import hashlib
from typing import Literal

from pydantic import Field, field_validator

from semfocus.settings import Settings

DataName = Literal["train", "held_out"]


def check_points(points: int) -> None:
    """Only an odd grid has a centre, which is the model."""
    if points < 3 or points % 2 == 0:
        raise ValueError(
            f"the number of points a side must be odd, and at least 3, so that the centre of the grid is the model; got {points}"
        )


def grid_axis(points: int, radius: float) -> list[float]:
    """Coordinates from -radius to radius; the middle one is exactly 0.

    >>> grid_axis(5, 1.0)
    [-1.0, -0.5, 0.0, 0.5, 1.0]
    """
    check_points(points)
    if not 0 < radius < float("inf"):
        raise ValueError(f"radius must be a positive number, got {radius}")
    half = points // 2
    return [radius * (index - half) / half for index in range(points)]


class PlaceSpec(Settings):
    """Whose loss, and on what: a run at an epoch, by the digest of its weights, on its first `samples` samples."""

    run: str
    epoch: int = Field(ge=0)
    weights: str
    data: DataName = "train"
    samples: int = Field(ge=1)
    seed: int = Field(ge=0)

    kind: Literal["grid", "hessian"]
    #: raised whenever the same spec would give other numbers
    landscape_version: Literal[1] = 1

    @property
    def name(self) -> str:
        """The name of its directory: equal specs, equal names."""
        return f"{self.kind}-{hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:20]}"


class GridSpec(PlaceSpec):
    """points x points values of the loss over [-radius, radius]^2 along one pair of random directions."""

    kind: Literal["grid"] = "grid"
    points: int = 41
    radius: float = Field(1.0, gt=0)
    scaling: Literal["tensor", "filter"] = "tensor"
    pair: int = Field(0, ge=0)

    @field_validator("points")
    @classmethod
    def _is_odd(cls, value: int) -> int:
        check_points(value)
        return value


class HessianSpec(PlaceSpec):
    """The `count` largest and smallest eigenvalues of the Hessian."""

    kind: Literal["hessian"] = "hessian"
    count: int = Field(1, ge=1)
    most_products: int = Field(100, ge=1)


def parse_place(values: dict[str, object]) -> GridSpec | HessianSpec:
    """The spec that a file holds."""
    return HessianSpec(**values) if values.get("kind") == "hessian" else GridSpec(**values)  # type: ignore[arg-type]
