"""Landscape: the loss on grids around a trained run, and the curvature at the centre."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from semfocus.measurements.landscape.place import GridSpec, HessianSpec, LandscapeDirectory
from semfocus.measurements.measurement import Measurement, Notify, Part
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory
    from semfocus.runs.record import Record


@dataclass(frozen=True)
class Landscape(Measurement):
    """`MEASURE = [Landscape(points=21)]` in a recipe, the same for every run.

    `samples`: None for all; `hessian`: how many eigenvalues, 0 for none. A part is a row of a grid, or a Hessian.
    """

    name: ClassVar[str] = "landscape"
    problem: ClassVar[str] = "has no landscape"
    exported_as: ClassVar[str | None] = "landscapes"
    columns: ClassVar[tuple[str, ...]] = (
        *("epoch", "grid", "steepness", "grids", "hessian", "largest_eigenvalue", "largest_residual"),
        *("smallest_eigenvalue", "smallest_residual"),
    )

    points: int = 41
    radius: float = 1.0
    pairs: int = 1
    scaling: str = "tensor"
    data: str = "train"
    samples: int | None = None
    epoch: str = "last"
    hessian: int = 0

    def __str__(self) -> str:
        pairs = f"{count_of(self.pairs, 'pair')} of directions"
        hessian = f", {count_of(self.hessian, 'eigenvalue')} of the Hessian" if self.hessian else ""
        what = f"{self.epoch}: {self.points} x {self.points} points, {pairs}, {self.data} data{hessian}"
        return f"the loss is computed around the models ({what})"

    def missing(self, directory: "RunDirectory", device: str, threads: int) -> Sequence[Part]:
        """Loads the model and makes the directories of its landscapes."""
        from semfocus.measurements.landscape.plan import plan_landscape

        planned = plan_landscape(directory, self, device, threads)
        return [part for place in planned.places for part in missing_parts(place)]

    def is_known(self, directory: "RunDirectory", part: Part) -> bool:
        place = place_of(directory, part)
        return place.eigenvalues() is not None if part["row"] is None else part["row"] in place.rows()

    def compute(
        self, directory: "RunDirectory", part: Part, *, device: str, threads: int, notify: Notify
    ) -> dict[str, Any]:
        from semfocus.measurements.landscape.survey import surveyed

        return surveyed(place_of(directory, part), part["row"], device, threads, notify)

    def keep(self, directory: "RunDirectory", part: Part, found: dict[str, Any]) -> None:
        place = place_of(directory, part)
        if part["row"] is None:
            place.add_eigenvalues(found["values"], found["numerics"])
        else:
            place.add_row(part["row"], found["losses"], found["numerics"])

    def size(self, part: Part) -> int:
        """The points of a row; a Hessian may need fewer products than this."""
        return int(part["points"])

    def files(self, directory: "RunDirectory", part: Part) -> list[Path]:
        return [directory.path / "spec.json", *place_of(directory, part).files()]

    def owned(self, directory: "RunDirectory", parts: Sequence[Part]) -> ExitStack:
        """Two processes do not compute the same grid."""
        held = ExitStack()
        with held:  # lets go of the first ones if a later one is busy
            for name in dict.fromkeys(part["place"] for part in parts):
                held.enter_context(LandscapeDirectory(directory.landscapes / name).owned())
            return held.pop_all()
        raise AssertionError

    @classmethod
    def table(cls, record: "Record") -> list[dict[str, Any]]:
        """A row per kind of grid, or Hessian, and epoch: steepness, or the extreme eigenvalues."""
        from semfocus.measurements.landscape.surface import landscape_rows

        return landscape_rows(record)


def place_of(directory: "RunDirectory", part: Part) -> LandscapeDirectory:
    return LandscapeDirectory(directory.landscapes / part["place"])


def missing_parts(place: LandscapeDirectory) -> list[Part]:
    """The rows that a grid lacks, those nearest to the centre first; a Hessian is one part."""
    spec = place.spec()
    if isinstance(spec, HessianSpec):
        known = place.eigenvalues() is not None
        return [] if known else [{"place": place.name, "row": None, "points": spec.most_products}]
    assert isinstance(spec, GridSpec)
    return [{"place": place.name, "row": row, "points": spec.points} for row in place.missing_rows()]
