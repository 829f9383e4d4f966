"""What every measurement of a trained run can do; a recipe lists them: MEASURE = [Inside(), Twins()]."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from semfocus.notation import did_you_mean
from semfocus.runs.shape import KEPT_FILES

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory, RunSpec
    from semfocus.runs.record import Record

#: what a measurement lacks in one run: a plain value that travels as JSON to whoever computes it
Part = Any
#: hears that one more point of a long part is computed
Notify = Callable[[dict[str, Any]], None]

#: files of measurements of ours under other names
RESERVED = {file for name, (file, _) in KEPT_FILES.items() if file != f"{name}.json"}

#: every kind of measurement by its name; a subclass adds itself
MEASUREMENTS: dict[str, type["Measurement"]] = {}


class Measurement(ABC):
    """A frozen dataclass of plain values. What it finds is kept in the run's directory and read from there.

    A run is measured in parts, which any executor may compute: `missing` lists them, `compute` finds one out anywhere,
    `keep` stores it where the store is. What is kept is never computed again.
    """

    #: its name in `record.measurements`, on the command line and in messages
    name: ClassVar[str]
    #: follows the title of a run about which it could not be found out
    problem: ClassVar[str] = "could not be measured"
    #: the name of its exported table. None: measurement-NAME, and since no figure or table of ours is about it, pages
    #: and texts list its rows
    exported_as: ClassVar[str | None] = None
    #: the columns with which that table begins, even where it is empty
    columns: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        name = getattr(cls, "name", None)
        if not isinstance(name, str) or not name.isidentifier():
            raise ValueError(f"the measurement {cls.__name__} needs a name, a word such as name = 'twins'")
        if f"{name}.json" in RESERVED or name in ("env", "spec", "record"):
            raise ValueError(
                f"the measurement {cls.__name__}: {name}.json is another file of a run, choose another name"
            )
        known = MEASUREMENTS.get(name)
        if known is not None and known.__module__.split(".")[0] == "semfocus" != cls.__module__.split(".")[0]:
            raise ValueError(f"the measurement {cls.__name__}: {name!r} is the name of one of ours")
        MEASUREMENTS[name] = cls

    @classmethod
    def register_again(cls) -> None:
        """Another file may have used its name since."""
        MEASUREMENTS[cls.name] = cls

    def __str__(self) -> str:
        """What follows the training, in words."""
        return f"{self.name} is measured in every run"

    def of(self, spec: "RunSpec") -> Self | None:
        """What is measured in this run: by default the same in all; None: nothing."""
        return self

    @abstractmethod
    def missing(self, directory: "RunDirectory", device: str, threads: int) -> Sequence[Part]:
        """What is not known of a run yet."""

    @abstractmethod
    def compute(
        self, directory: "RunDirectory", part: Part, *, device: str, threads: int, notify: Notify
    ) -> Any:
        """Find out one part; the answer is a plain value. On a cluster the directory is a copy."""

    @abstractmethod
    def keep(self, directory: "RunDirectory", part: Part, found: Any) -> None:
        """Store the answer, beside those of other processes."""

    def is_known(self, directory: "RunDirectory", part: Part) -> bool:
        """Whether another process has kept a part since `missing` was asked."""
        return False

    def size(self, part: Part) -> int:
        """How many points `compute` tells of."""
        return 1

    def files(self, directory: "RunDirectory", part: Part) -> list[Path]:
        """What a computer on another machine needs."""
        return directory.files()

    def owned(self, directory: "RunDirectory", parts: Sequence[Part]) -> AbstractContextManager[object]:
        """Held while parts are computed, where two processes should not compute the same."""
        return nullcontext()

    @classmethod
    def table(cls, record: "Record") -> list[dict[str, Any]]:
        """What was found in a run as rows for pages, texts and exports: by default the rows that are kept."""
        return record.measured(cls.name)

    @classmethod
    def from_table(cls, rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
        """What an exported run has of these rows, by name: of one with `exported_as`, what its table was made of.

        A value that this run did not have is None.
        """
        return {cls.name: [{key: value for key, value in row.items() if value is not None} for row in rows]}

    def complete(self, directory: "RunDirectory", device: str = "auto", threads: int = 1) -> None:
        """Compute and keep, in this process, all that is missing."""
        for part in self.missing(directory, device, threads):
            found = self.compute(directory, part, device=device, threads=threads, notify=lambda message: None)
            self.keep(directory, part, found)

    def values(self) -> dict[str, Any]:
        """The options as they travel."""
        return asdict(self)  # type: ignore[call-overload]  # subclasses are dataclasses


def measurement_of(name: str, values: dict[str, Any]) -> Measurement:
    """A measurement as it was before it travelled as JSON, which has no tuples."""
    if name not in MEASUREMENTS:
        raise ValueError(f"unknown measurement {name!r}{did_you_mean(name, MEASUREMENTS)}")
    read = {key: tuple(each) if isinstance(each, list) else each for key, each in values.items()}
    return MEASUREMENTS[name](**read)


def exported_kinds() -> dict[str, type[Measurement]]:
    """Our measurements, by the names of their tables."""
    return {kind.exported_as: kind for kind in MEASUREMENTS.values() if kind.exported_as is not None}


def own_tables(records: "Iterable[Record]") -> "dict[str, list[tuple[Record, dict[str, Any]]]]":
    """The rows of every measurement that is not one of ours, by its name, each with its run.

    Exported rows, and those whose class nobody has loaded, are as they were kept.
    """
    found: dict[str, list[tuple[Record, dict[str, Any]]]] = {}
    for record in records:
        for name in record.measurements:
            kind = MEASUREMENTS.get(name)
            if not name.isidentifier() or (kind is not None and kind.exported_as is not None):
                continue
            as_kept = kind is None or record.directory is None
            rows = record.measured(name) if as_kept else MEASUREMENTS[name].table(record)
            found.setdefault(name, []).extend((record, row) for row in rows)
    return {name: found[name] for name in sorted(found) if found[name]}
