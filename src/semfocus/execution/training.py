"""Runs to be trained, as items of a schedule."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from semfocus.execution.jobs import Message, TrainingJob
from semfocus.runs import RunBusy, RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.runs.journal import CorruptJournal
from semfocus.runs.record import Record, read_record


@dataclass(frozen=True)
class TrainingOptions:
    """What all runs of a study share."""

    device: str
    threads: int
    checkpoint_seconds: float
    recipe_file: str | None
    probe_every: int | None = None


class TrainingItem:
    """One run; its directory has what must survive."""

    def __init__(self, spec: RunSpec, store: Store, options: TrainingOptions) -> None:
        self.work = spec
        self.name = spec.digest
        self.store = store
        self.place = str(store.path)
        self.options = options
        self.directory = store.directory(spec)

    def known(self) -> Record | None:
        return read_record(self.directory) if self.directory.has_ended else None

    def job(self) -> TrainingJob:
        spec = self.work.model_dump(mode="json")
        return TrainingJob(
            run=self.name, spec=spec, store=str(self.store.path.absolute()), **asdict(self.options)
        )

    def finished(self, message: Message) -> Record:
        return read_record(self.directory)

    def attempt_failed(self, message: Message) -> None:
        """Write the failure into the journal, unless the worker could do so itself, and its traceback beside it."""
        self.directory.create(self.work.model_dump(mode="json"))
        # Busy: another process has already gone on with it. Damaged: nothing can be added, and reading says so.
        with suppress(RunBusy, DamagedRun, CorruptJournal), self.directory.owned():
            last: dict[str, Any] = (self.directory.events() or [{}])[-1]
            if (last.get("event"), last.get("reason")) != ("failed", message["reason"]):
                self.directory.note("failed", kind=message["kind"], reason=message["reason"])
            if message.get("traceback"):
                self.directory.write_failure(message["traceback"])

    def failed(self, message: Message) -> Record:
        record = read_record(self.directory)
        if record["state"] in ("failed", "corrupt"):
            return record
        return record | {"state": "failed", "reason": message["reason"]}


def training_items(specs: Sequence[RunSpec], store: Store, options: TrainingOptions) -> list[TrainingItem]:
    """Each spec once."""
    return [TrainingItem(spec, store, options) for spec in {spec.digest: spec for spec in specs}.values()]
