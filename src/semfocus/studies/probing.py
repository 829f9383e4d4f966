"""Looking into runs that exist: probe rows of any epoch, computed once and kept in the run's directory."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from semfocus.mechanisms import Pattern, parse_pattern
from semfocus.probes import QUANTITIES
from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.runs.record import Record
from semfocus.studies.along_training import is_probed
from semfocus.studies.measuring import ALONG_TRAINING, FEW, PARTS, Row, measure
from semfocus.studies.probe_plan import SAMPLES, Part
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.replay import chosen_epoch, model_at, readable_record, replayed
from semfocus.training.runner import dataset_of
from semfocus.training.trained_run import TrainedRun

#: seconds to wait for another process that adds its own rows
_PATIENCE = 10.0
#: which rows are about the same thing: of these, the newest are kept
_SAME = ("epoch", "data", "samples", "pattern", "counterfactual")


def probe_run(
    run: RunSpec | RunDirectory,
    store: Store | None = None,
    *,
    epoch: int | str = "last",
    data: Part | Sequence[Part] = PARTS,
    samples: int = SAMPLES,
    patterns: Sequence[Pattern | str] = (),
    device: str | None = None,
    threads: int = 1,
) -> list[Row]:
    """Every quantity inside the run's model after an epoch (a number, `last`, `best`, `reaching:0.95`).

    `patterns` are also applied to the scores of the same traces: those rows are `counterfactual`. Rows are those of
    `semfocus.probes.probe_rows` with `epoch`, `data`, `samples`, and `problems` where the state may not be the run's own.
    """
    directory = _directory(run, store)
    want = _Wanted.of(directory, epoch, data, samples, patterns)
    kept = directory.probes()
    missing = want.missing(kept)
    if missing:
        with limited_threads(threads):
            trained = model_at(directory, want.epoch, None if device is None else resolve_device(device))
            drawn = dataset_of(want.spec)
            new: list[Row] = []
            for part, others in missing.items():
                found = measure(trained.model, want.spec, drawn, part, samples=samples, patterns=others)
                new += _labelled(found, want.label, trained)
        kept = _add(directory, new)
    return [
        row
        for part in want.sizes
        for pattern in (None, *map(str, want.others))
        for row in want.find(kept, part, pattern)
    ]


def is_known(
    directory: RunDirectory,
    *,
    epoch: int | str,
    data: Part | Sequence[Part],
    samples: int,
    patterns: Sequence[Pattern | str] = (),
) -> bool:
    """Whether `probe_run` would only read."""
    return not _Wanted.of(directory, epoch, data, samples, patterns).missing(directory.probes())


@dataclass(frozen=True)
class _Wanted:
    """Which rows of a run are asked for."""

    spec: RunSpec
    epoch: int
    label: str
    others: list[Pattern]
    #: how many sequences of each part there are to look at
    sizes: dict[Part, int]

    @classmethod
    def of(
        cls,
        directory: RunDirectory,
        epoch: int | str,
        data: Part | Sequence[Part],
        samples: int,
        patterns: Sequence[Pattern | str],
    ) -> "_Wanted":
        record = readable_record(directory)
        wanted = chosen_epoch(record, epoch)
        parts: tuple[Part, ...] = (data,) if isinstance(data, str) else tuple(data)
        spec = RunSpec(**directory.spec())
        read = [parse_pattern(each) if isinstance(each, str) else each for each in patterns]
        others = list(
            dict.fromkeys(each for each in read if str(each) != spec.pattern)
        )  # its own is no other
        sizes = {part: min(samples, _size(spec, record, part)) for part in parts}
        return cls(spec, wanted, _label("all", list(QUANTITIES)), others, sizes)

    def find(self, rows: Sequence[Row], part: Part, pattern: str | None) -> list[Row]:
        return _find(rows, self.label, self.epoch, part, self.sizes[part], pattern)

    def missing(self, rows: Sequence[Row]) -> dict[Part, list[Pattern]]:
        """The parts of the data that lack something, with the other patterns that they lack."""
        found = {
            part: [each for each in self.others if not self.find(rows, part, str(each))]
            for part in self.sizes
        }
        return {part: each for part, each in found.items() if each or not self.find(rows, part, None)}


def along_training(directory: RunDirectory) -> list[Row]:
    """What is known of the way of a run: rows of its journal, and of `probe_along` where the journal has none."""
    noted = readable_record(directory).get("probes") or []
    known = {row["epoch"] for row in noted}
    label = _label("along", ALONG_TRAINING)
    later = [
        row for row in directory.probes() if row.get("quantities") == label and row["epoch"] not in known
    ]
    return sorted([*noted, *later], key=lambda row: row["epoch"])


def probe_along(directory: RunDirectory, every: int) -> list[Row]:
    """The rows that training with `probe_every` would have noted, for a run that was trained without.

    Epochs without rows are trained again; what was measured is kept even if this is interrupted.
    """
    wanted = _not_along(directory, every)
    if wanted:
        new: list[Row] = []
        try:
            for rows in _measured_on_the_way(directory, wanted):
                new += rows
        finally:
            _add(directory, new)
    return along_training(directory)


def along_is_known(directory: RunDirectory, every: int) -> bool:
    """Whether `probe_along` would only read."""
    return not _not_along(directory, every)


def _not_along(directory: RunDirectory, every: int) -> list[int]:
    """Epochs that lack rows."""
    if every < 1:
        raise ValueError(f"every must be at least 1, got {every}")
    record = readable_record(directory)
    last = chosen_epoch(record, "last")
    known = {row["epoch"] for row in along_training(directory)}
    return [each for each in record["curve"]["epoch"] if is_probed(each, every, last) and each not in known]


def _measured_on_the_way(directory: RunDirectory, epochs: Sequence[int]) -> Iterator[list[Row]]:
    """All rows of one epoch at a time: an epoch with some of them would count as measured."""
    label = _label("along", ALONG_TRAINING)
    drawn = None
    for trained in replayed(directory, epochs):
        drawn = drawn or dataset_of(trained.spec)
        found = [
            measure(trained.model, trained.spec, drawn, part, samples=FEW, quantities=ALONG_TRAINING)
            for part in PARTS
        ]
        yield _labelled([row for rows in found for row in rows], label, trained)


def _directory(run: RunSpec | RunDirectory, store: Store | None) -> RunDirectory:
    if isinstance(run, RunDirectory):
        return run
    if store is None:
        raise ValueError("a spec needs the store that its run is in")
    return store.directory(run)


def _size(spec: RunSpec, record: Record, part: Part) -> int:
    """How many sequences there are; a data file may have fewer than were asked for."""
    if part not in PARTS:
        raise ValueError(f"data must be one of {', '.join(PARTS)}, got {part!r}")
    return record.get(f"num_{part}") or getattr(spec.training, f"num_{part}")


def _label(name: str, quantities: Sequence[str]) -> str:
    """`all:1f3a9c2e`: another version may know other quantities, and then rows of this one are not all there are."""
    digest = hashlib.sha256(json.dumps(sorted(quantities)).encode()).hexdigest()
    return f"{name}:{digest[:8]}"


def _labelled(rows: Sequence[Row], label: str, trained: TrainedRun) -> list[Row]:
    more: dict[str, Any] = {"epoch": trained.epoch, "quantities": label}
    if trained.problems:
        more["problems"] = list(trained.problems)
    return [{**row, **more} for row in rows]


def _find(
    rows: Sequence[Row], label: str, epoch: int, part: str, samples: int, pattern: str | None
) -> list[Row]:
    """The rows of the model's own pattern (None) or of another one on its scores."""
    return [
        row
        for row in rows
        if (row.get("quantities"), row["epoch"], row["data"], row["samples"]) == (label, epoch, part, samples)
        and (row["pattern"] == pattern if row["counterfactual"] else pattern is None)
    ]


def _add(directory: RunDirectory, new: Sequence[Row]) -> list[Row]:
    """Keep the rows beside those that are there, of another process perhaps, and in place of older ones like them."""

    def like(row: Row) -> tuple[Any, ...]:
        family = str(row.get("quantities")).split(":")[0]
        return family, *(row.get(key) for key in _SAME)

    replaced = {like(row) for row in new}
    with directory.owned(_PATIENCE):
        rows = [*(row for row in directory.probes() if like(row) not in replaced), *new]
        directory.write_probes(rows)
    return rows
