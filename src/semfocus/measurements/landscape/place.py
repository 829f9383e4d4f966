"""Where a loss landscape is kept, and everything that decides its numbers."""

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from semfocus.durable import make_directory, read, remove_partials, write_durably
from semfocus.runs.directory import DamagedRun, RunDirectory, holding
from semfocus.runs.journal import append, read_journal, seal, unseal
from semfocus.runs.record import with_kernel_version
from semfocus.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor


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


_ABOUT, _VALUES, _CENTRE = "landscape.json", "values.jsonl", "centre"


class LandscapeDirectory:
    """landscape.json, centre-EPOCH/, values.jsonl (a sealed line for each row of the grid): written here alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def exists(self) -> bool:
        return (self.path / _ABOUT).exists()

    def create(
        self,
        spec: GridSpec | HessianSpec,
        run_spec: dict[str, Any],
        weights: "Mapping[str, Tensor]",
        **facts: Any,
    ) -> None:
        """Keep what workers need, so that the landscape stays that of these weights if the run trains on."""
        from semfocus.runs.checkpoints import Checkpoint, save_checkpoint

        if self.exists:
            return
        make_directory(self.path)
        save_checkpoint(self.path, _CENTRE, Checkpoint(spec.epoch, {"model": dict(weights)}), keep=1)
        about = {"spec": spec.model_dump(mode="json"), "run_spec": run_spec, "facts": facts}
        write_durably(self.path / _ABOUT, seal(about).encode())  # last: then all is there

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Hold the landscape while values are added."""
        with holding(self.path / "lock", f"landscape {self.name} is being computed by another process"):
            remove_partials(self.path)
            yield

    def about(self) -> dict[str, Any]:
        """`spec`, `run_spec`, and `facts` such as the lengths of the directions."""
        try:
            return unseal(read(self.path / _ABOUT).decode())
        except ValueError as error:
            raise DamagedRun(f"{self.path / _ABOUT} is damaged: {error}") from None

    def spec(self) -> GridSpec | HessianSpec:
        return parse_place(self.about()["spec"])

    def weights(self) -> "dict[str, Tensor]":
        """The weights at the centre, which must be those that the spec names."""
        from semfocus.runs.checkpoints import load_newest, weights_digest

        spec = self.spec()
        loaded, problems = load_newest(self.path, _CENTRE)
        if loaded is None:
            raise DamagedRun(
                f"landscape {self.name} has no usable weights: {'; '.join(problems) or 'none kept'}"
            )
        weights = loaded.groups["model"]
        if weights_digest(weights) != spec.weights:
            raise DamagedRun(f"landscape {self.name}: the weights are not those that it was made for")
        return weights

    def add_row(self, row: int, losses: Sequence[float], numerics: dict[str, Any]) -> None:
        """One row of the grid. JSON has no infinities and no NaN: they are written as words."""
        written = [value if math.isfinite(value) else str(value) for value in losses]
        append(self.path / _VALUES, {"event": "row", "row": row, "losses": written, "numerics": numerics})

    def rows(self) -> dict[int, list[float]]:
        """The rows that there are."""
        return {
            event["row"]: [float(value) for value in event["losses"]]
            for event in self._events()
            if event["event"] == "row"
        }

    def add_eigenvalues(self, values: dict[str, Any], numerics: dict[str, Any]) -> None:
        append(self.path / _VALUES, {"event": "eigenvalues", "values": values, "numerics": numerics})

    def eigenvalues(self) -> dict[str, Any] | None:
        found = [event["values"] for event in self._events() if event["event"] == "eigenvalues"]
        return found[0] if found else None

    def numerics(self) -> list[dict[str, Any]]:
        """The numerics classes of the values: more than one, and bits may differ between them."""
        seen = {
            json.dumps(with_kernel_version(event["numerics"]), sort_keys=True) for event in self._events()
        }
        return [json.loads(each) for each in sorted(seen)]

    def missing_rows(self) -> list[int]:
        """Rows that are still to be computed, those nearest to the centre first."""
        spec = self.spec()
        assert isinstance(spec, GridSpec)
        half = spec.points // 2
        return sorted(set(range(spec.points)) - self.rows().keys(), key=lambda row: (abs(row - half), row))

    def _events(self) -> list[dict[str, Any]]:
        return read_journal(self.path / _VALUES)

    def files(self) -> list[Path]:
        """What a worker on another machine needs."""
        return [self.path / _ABOUT, *self.path.glob(f"{_CENTRE}-*/*")]


def landscape_directory(run: RunDirectory, spec: GridSpec | HessianSpec) -> LandscapeDirectory:
    """Where a landscape of a run is kept, whether or not it exists yet."""
    return LandscapeDirectory(run.landscapes / spec.name)
