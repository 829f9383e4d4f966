"""Measuring inside the model of a run at an epoch: which sequences, which quantities, rows that any JSON
parser reads.
"""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from semfocus.measurements.interior import (
    PARTS,
    SAMPLES,
    DataPart,
    Row,
    add_rows,
    find_rows,
    label_of,
)
from semfocus.mechanisms import Pattern, parse_pattern
from semfocus.model import Classifier
from semfocus.probes import QUANTITIES, probe_rows
from semfocus.runs import RunDirectory, RunSpec, Store
from semfocus.runs.record import Record
from semfocus.tasks import Dataset, Samples
from semfocus.training.device import limited_threads, resolve_device
from semfocus.training.replay import chosen_epoch, model_at, readable_record
from semfocus.training.runner import dataset_of
from semfocus.training.trained_run import TrainedRun

#: of them, those for which the task must say which tokens decide
_NEED_RELEVANT = ("focus_mass",)
#: sequences of each part that are measured along training
FEW = 64


def measure(
    model: Classifier,
    spec: RunSpec,
    data: Dataset,
    part: DataPart,
    *,
    samples: int,
    quantities: Sequence[str] | None = None,
    patterns: Sequence[Pattern] = (),
) -> list[Row]:
    """Probe rows on the first `samples` sequences of a part of the run's data, which were drawn at random."""
    chosen = first_of(data, part, samples).to(model.readout.weight.device)
    relevant = relevant_of(spec, chosen.tokens)
    if quantities is not None and relevant is None:
        quantities = [each for each in quantities if each not in _NEED_RELEVANT]
    # A copy: whatever is done to measure, the model that is being trained stays as it is.
    rows = probe_rows(
        copy.deepcopy(model),
        chosen.tokens,
        None if bool(chosen.real.all()) else chosen.real,
        labels=chosen.labels,
        relevant=relevant,
        quantities=quantities,
        patterns=tuple(patterns),
    )
    return [finite({**row, "data": part, "samples": len(chosen)}) for row in rows]


def first_of(data: Dataset, part: DataPart, num: int) -> Samples:
    """The first samples of a part."""
    if part not in PARTS:
        raise ValueError(f"data must be one of {', '.join(PARTS)}, got {part!r}")
    if num < 1:
        raise ValueError(f"samples must be at least 1, got {num}")
    whole = data.train if part == "train" else data.held_out
    return Samples(whole.tokens[:num], whole.labels[:num], whole.real[:num])


def relevant_of(spec: RunSpec, tokens: torch.Tensor) -> torch.Tensor | None:
    """The tokens that decide the label, where the task can say."""
    found = spec.task_value.relevant(tokens.cpu())
    return None if found is None else found.to(tokens.device)


def finite(value: Any) -> Any:
    """The same with None for infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def labelled(rows: Sequence[Row], label: str, trained: TrainedRun) -> list[Row]:
    more: dict[str, Any] = {"epoch": trained.epoch, "quantities": label}
    if trained.problems:
        more["problems"] = list(trained.problems)
    return [{**row, **more} for row in rows]


def probe_run(
    run: RunSpec | RunDirectory,
    store: Store | None = None,
    *,
    epoch: int | str = "last",
    data: DataPart | Sequence[DataPart] = PARTS,
    samples: int = SAMPLES,
    patterns: Sequence[Pattern | str] = (),
    device: str | None = None,
    threads: int = 1,
) -> list[Row]:
    """Every quantity inside the run's model after an epoch (a number, `last`, `best`, `reaching:0.95`).

    `patterns` are also applied to the scores of the same traces: those rows are `counterfactual`. Rows are those of
    `semfocus.probes.probe_rows` with `epoch`, `data`, `samples`, and `problems` where the state may not be
    the run's own.
    """
    directory = _directory(run, store)
    want = _Wanted.of(directory, epoch, data, samples, patterns)
    kept = directory.kept("inside")
    missing = want.missing(kept)
    if missing:
        kept = add_rows(directory, _new_rows(directory, want, missing, samples, device, threads))
    return [
        row
        for part in want.sizes
        for pattern in (None, *map(str, want.others))
        for row in want.find(kept, part, pattern)
    ]


def missing_rows(
    directory: RunDirectory,
    *,
    epoch: int | str,
    data: Sequence[DataPart],
    samples: int,
    patterns: Sequence[str],
    device: str,
    threads: int,
) -> list[Row]:
    """The rows that `probe_run` would add."""
    want = _Wanted.of(directory, epoch, data, samples, patterns)
    missing = want.missing(directory.kept("inside"))
    return _new_rows(directory, want, missing, samples, device, threads) if missing else []


def _new_rows(
    directory: RunDirectory,
    want: "_Wanted",
    missing: Mapping[DataPart, Sequence[Pattern]],
    samples: int,
    device: str | None,
    threads: int,
) -> list[Row]:
    new: list[Row] = []
    with limited_threads(threads):
        trained = model_at(directory, want.epoch, None if device is None else resolve_device(device))
        drawn = dataset_of(want.spec)
        for part, others in missing.items():
            found = measure(trained.model, want.spec, drawn, part, samples=samples, patterns=others)
            new += labelled(found, want.label, trained)
    return new


def is_known(
    directory: RunDirectory,
    *,
    epoch: int | str,
    data: DataPart | Sequence[DataPart],
    samples: int,
    patterns: Sequence[Pattern | str] = (),
) -> bool:
    """Whether `probe_run` would only read."""
    return not _Wanted.of(directory, epoch, data, samples, patterns).missing(directory.kept("inside"))


@dataclass(frozen=True)
class _Wanted:
    """Which rows of a run are asked for."""

    spec: RunSpec
    epoch: int
    label: str
    others: list[Pattern]
    #: how many sequences of each part there are to look at
    sizes: dict[DataPart, int]

    @classmethod
    def of(
        cls,
        directory: RunDirectory,
        epoch: int | str,
        data: DataPart | Sequence[DataPart],
        samples: int,
        patterns: Sequence[Pattern | str],
    ) -> "_Wanted":
        record = readable_record(directory)
        wanted = chosen_epoch(record, epoch)
        parts: tuple[DataPart, ...] = (data,) if isinstance(data, str) else tuple(data)
        spec = RunSpec(**directory.spec())
        read = [parse_pattern(each) if isinstance(each, str) else each for each in patterns]
        others = list(
            dict.fromkeys(each for each in read if str(each) != spec.pattern)
        )  # its own is no other
        sizes = {part: min(samples, _size(spec, record, part)) for part in parts}
        return cls(spec, wanted, label_of("all", list(QUANTITIES)), others, sizes)

    def find(self, rows: Sequence[Row], part: DataPart, pattern: str | None) -> list[Row]:
        return find_rows(rows, self.label, self.epoch, part, self.sizes[part], pattern)

    def missing(self, rows: Sequence[Row]) -> dict[DataPart, list[Pattern]]:
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


def _size(spec: RunSpec, record: Record, part: DataPart) -> int:
    """How many sequences there are; a data file may have fewer than were asked for."""
    if part not in PARTS:
        raise ValueError(f"data must be one of {', '.join(PARTS)}, got {part!r}")
    return record.get(f"num_{part}") or getattr(spec.training, f"num_{part}")
