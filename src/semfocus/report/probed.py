"""Runs with what was measured inside them, as plain values that a page or a table is made of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from semfocus.report.sampling import Record
from semfocus.runs.task_title import task_title, tasks_of
from semfocus.studies.arms import arm_of

if TYPE_CHECKING:
    from semfocus.runs import Store

#: of a record: rows noted along training, and those that `with_kept_probes` adds
KEY = "probes"

Row = Mapping[str, Any]


@dataclass(frozen=True)
class ProbedRun:
    """A run at one epoch: `rows` at that epoch, `along` over epochs, `maps` of one sequence (studies/attention_maps.py).

    A model that somebody else trained has a record with little in it, and no epoch.
    """

    record: Record
    epoch: int | None
    rows: Sequence[Row]
    along: Sequence[Row] = ()
    maps: Mapping[str, Any] | None = None

    @property
    def problems(self) -> list[str]:
        """Why the rows may not be those of the run's own state, each said once."""
        found = [each for row in (*self.rows, *self.along) for each in row.get("problems", ())]
        return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Quantity:
    """What a quantity is called and means; of semfocus.probes.QUANTITIES, which needs torch to be imported."""

    name: str
    meaning: str
    unit: str = ""
    per: str = ""


@dataclass(frozen=True)
class Probed:
    """All runs of a page, the quantities that occur, and the command that makes it."""

    runs: Sequence[ProbedRun]
    quantities: Mapping[str, Quantity] = field(default_factory=dict)
    command: str = ""


def with_kept_probes(store: "Store", records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records, each also with the rows that `semfocus probe` kept, if they can be read."""
    from semfocus.runs.directory import DamagedRun

    directories = {directory.name: directory for directory in store.directories()}
    found = []
    for record in records:
        directory = directories.get(str(record.get("run")))
        try:
            later = directory.probes() if directory is not None else []
        except (DamagedRun, OSError):
            later = []
        found.append({**record, KEY: [*(record.get(KEY) or []), *later]})
    return found


def run_labels(runs: Sequence[ProbedRun]) -> dict[str, str]:
    """A name for each run and the group of its arm: the arm alone if that tells them apart, else with what does."""
    specs = [run.record["spec"] for run in runs]
    parts = [
        [arm_of(spec).label for spec in specs],
        [task_title(spec.get("task"), tasks_of(run.record for run in runs)) for spec in specs],
        [f"seed {spec.get('seed')}" for spec in specs],
        [f"epoch {run.epoch}" for run in runs],
        [str(run.record.get("run"))[:6] for run in runs],
    ]
    names = parts[0]
    for more in parts[1:]:
        if len(set(names)) == len(names):
            break
        if len(set(more)) > 1:
            names = [f"{name}, {each}" for name, each in zip(names, more, strict=True)]
    names = [name if names.count(name) == 1 else f"{name} ({place + 1})" for place, name in enumerate(names)]
    return {name: arm_of(spec).group for name, spec in zip(names, specs, strict=True)}
