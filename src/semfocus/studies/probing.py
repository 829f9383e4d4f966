"""Looking into runs that exist: probe rows of any epoch, computed once and kept in the run's directory."""

from collections.abc import Sequence
from dataclasses import dataclass

from semfocus.mechanisms import Pattern, parse_pattern
from semfocus.probes import QUANTITIES
from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.runs.record import Record
from semfocus.studies.kept_rows import add_rows, find_rows, label_of, labelled
from semfocus.studies.measuring import PARTS, Row, measure
from semfocus.studies.probe_plan import SAMPLES, Part
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.replay import chosen_epoch, model_at, readable_record
from semfocus.training.runner import dataset_of


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
                new += labelled(found, want.label, trained)
        kept = add_rows(directory, new)
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
        return cls(spec, wanted, label_of("all", list(QUANTITIES)), others, sizes)

    def find(self, rows: Sequence[Row], part: Part, pattern: str | None) -> list[Row]:
        return find_rows(rows, self.label, self.epoch, part, self.sizes[part], pattern)

    def missing(self, rows: Sequence[Row]) -> dict[Part, list[Pattern]]:
        """The parts of the data that lack something, with the other patterns that they lack."""
        found = {
            part: [each for each in self.others if not self.find(rows, part, str(each))]
            for part in self.sizes
        }
        return {part: each for part, each in found.items() if each or not self.find(rows, part, None)}


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
