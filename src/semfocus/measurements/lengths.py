"""Lengths: the accuracy of a trained run at other lengths than its own."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from semfocus.measurements.measurement import Measurement, Notify, Part
from semfocus.runs.record import Record, read_record
from semfocus.words import percent

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory, RunSpec

#: multiples of the training length: 40, 42, 50, 60, 80, 120, 200, 300, 400, 500 for 40
_MULTIPLES = (1, 1.05, 1.25, 1.5, 2, 3, 5, 7.5, 10, 12.5)
_LARGEST = 500
#: seconds to wait for another process that adds its own evaluations
_PATIENCE = 10.0

Row = dict[str, Any]

Values = list[float | None]


@dataclass(frozen=True)
class Lengths(Measurement):
    """`MEASURE = [Lengths()]` in a recipe: `num` new samples of each length; None: see `lengths_for`."""

    name: ClassVar[str] = "lengths"
    problem: ClassVar[str] = "has no accuracies at other lengths"
    exported_as: ClassVar[str | None] = "lengths"
    columns: ClassVar[tuple[str, ...]] = ("length", "num", "epoch", "loss", "accuracy")

    lengths: tuple[int, ...] | None = None
    num: int = 1000

    def __str__(self) -> str:
        return "the models are evaluated on longer sequences"

    def missing(self, directory: "RunDirectory", device: str, threads: int) -> Sequence[Part]:
        from semfocus.runs import RunSpec

        lengths = lengths_for(RunSpec(**directory.spec())) if self.lengths is None else self.lengths
        known = _of_last_epoch(directory)
        found = [length for length in lengths if (length, self.num) not in known]
        return [found] if found else []

    def is_known(self, directory: "RunDirectory", part: Part) -> bool:
        known = _of_last_epoch(directory)
        return all((length, self.num) in known for length in part)

    def compute(
        self, directory: "RunDirectory", part: Part, *, device: str, threads: int, notify: Notify
    ) -> list[Row]:
        from semfocus.training.device import limited_threads, resolve_device
        from semfocus.training.trained_run import load_run

        trained = load_run(directory, "last", resolve_device(device))
        with limited_threads(threads):
            found = {length: asdict(trained.at_length(length, self.num)) for length in part}
        return [
            {"length": length, "num": self.num, "epoch": trained.epoch, **_finite(values)}
            for length, values in found.items()
        ]

    def keep(self, directory: "RunDirectory", part: Part, found: list[Row]) -> None:
        with directory.owned(_PATIENCE):  # another process may have added some meanwhile
            both = _known(directory) | {(row["length"], row["num"]): row for row in found}
            directory.keep(self.name, [both[key] for key in sorted(both)])

    @classmethod
    def from_table(cls, rows: list[Row]) -> dict[str, list[Row]]:
        """A loss that is None was not finite."""
        return {cls.name: rows}


def lengths_for(spec: "RunSpec") -> list[int]:
    """From the training length up to 500, or twice as far for longer ones; each the next that the task allows."""
    own = spec.training.length if isinstance(spec.training.length, int) else spec.training.length[1]
    found = []
    for multiple in _MULTIPLES:
        length = round(own * multiple)
        if length <= max(_LARGEST, 2 * own):
            allowed = (
                each for each in range(length, length + 8) if spec.task_value.allows_length(each) is None
            )
            found.append(next(allowed, None))
    return sorted({length for length in found if length is not None})


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinity and no NaN."""
    lost = {key for key, value in values.items() if isinstance(value, float) and not math.isfinite(value)}
    return {key: None if key in lost else value for key, value in values.items()}


def _known(directory: "RunDirectory") -> dict[tuple[int, int], Row]:
    return {(row["length"], row["num"]): row for row in directory.kept(Lengths.name)}


def _of_last_epoch(directory: "RunDirectory") -> dict[tuple[int, int], Row]:
    """Without what was measured before the run ended, or in an older checkpoint: that is measured again."""
    last = read_record(directory).summary.get("epochs") if directory.has_ended else None
    known = _known(directory)
    return {key: row for key, row in known.items() if last is None or row.get("epoch", last) == last}


@dataclass(frozen=True)
class LengthTable:
    """Accuracies by length: for each arm, for each seed, a value or None for each length."""

    lengths: list[int]
    arms: dict[str, list[tuple[object, Values]]]
    trained_at: int | None

    def medians(self, label: str) -> Values:
        """The median over seeds at each length."""
        columns = zip(*(values for _, values in self.arms[label]), strict=True)
        there = [[value for value in column if value is not None] for column in columns]
        return [median(values) if values else None for values in there]

    def rows(self) -> list[list[str]]:
        """For each arm its name and a text for each length."""
        return [
            [label, *("-" if value is None else percent(round(value, 3)) for value in self.medians(label))]
            for label in self.arms
        ]


def length_table(arms: Mapping[str, Sequence[Record]]) -> LengthTable | None:
    """What the runs of a comparison do at other lengths; None if nobody looked."""
    looked = {
        label: [record for record in own if record.measured(Lengths.name)] for label, own in arms.items()
    }
    looked = {label: own for label, own in looked.items() if own}
    lengths = sorted(
        {row["length"] for own in looked.values() for record in own for row in record.measured(Lengths.name)}
    )
    if not lengths:
        return None
    trained = {_longest(record) for own in looked.values() for record in own}
    return LengthTable(
        lengths,
        {
            label: [(record["spec"].get("seed"), _values(record, lengths)) for record in own]
            for label, own in looked.items()
        },
        trained.pop() if len(trained) == 1 else None,
    )


def _values(record: Record, lengths: Sequence[int]) -> Values:
    """At each length the accuracy on the most samples."""
    rows = sorted(record.measured(Lengths.name), key=lambda row: row.get("num", 0))
    known = {row["length"]: row["accuracy"] for row in rows}
    return [known.get(length) for length in lengths]


def _longest(record: Record) -> int | None:
    length = record["spec"].get("training", {}).get("length")
    return max(length) if isinstance(length, list | tuple) else length
