"""Accuracy at other lengths than a run was trained at, where a study measured it (studies/lengths.py)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from semfocus.report.sampling import Record, Values
from semfocus.studies.wording import percent

if TYPE_CHECKING:
    from semfocus.runs import Store

#: of a record that `with_evaluations` made
KEY = "evaluations"


def with_evaluations(store: "Store", records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records, each with the rows of its evaluations, if it has any that can be read."""
    from semfocus.runs.directory import DamagedRun

    directories = {directory.name: directory for directory in store.directories()}
    found = []
    for record in records:
        directory = directories.get(str(record.get("run")))
        try:
            rows = directory.evaluations() if directory is not None else []
        except (DamagedRun, KeyError, TypeError, OSError):
            rows = []
        found.append({**record, KEY: rows} if rows else dict(record))
    return found


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
    looked = {label: [record for record in own if record.get(KEY)] for label, own in arms.items()}
    looked = {label: own for label, own in looked.items() if own}
    lengths = sorted({row["length"] for own in looked.values() for record in own for row in record[KEY]})
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
    rows = sorted(record[KEY], key=lambda row: row.get("num", 0))
    known = {row["length"]: row["accuracy"] for row in rows}
    return [known.get(length) for length in lengths]


def _longest(record: Record) -> int | None:
    length = record["spec"].get("training", {}).get("length")
    return max(length) if isinstance(length, list | tuple) else length
