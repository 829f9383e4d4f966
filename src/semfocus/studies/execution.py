"""Running a list of specs: every run once, whatever happens to the others."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from semfocus.durable import make_directory
from semfocus.execution.executor import Conditions, ExecutorName, at_least_one, make_executor
from semfocus.execution.jobs import Message, TrainingJob, check_recipe
from semfocus.execution.progress import Watcher
from semfocus.execution.schedule import Schedule
from semfocus.mechanisms import Pattern
from semfocus.runs import RunBusy, RunSpec, Store, open_store
from semfocus.runs.directory import DamagedRun
from semfocus.runs.journal import CorruptJournal
from semfocus.runs.record import Record, read_record


def run_study(
    specs: Sequence[RunSpec],
    store: Store | str | os.PathLike[str] | None = None,
    *,
    executor: ExecutorName = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    attempts: int = 3,
    watcher: Watcher | None = None,
    recipe_file: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 10.0,
    log: Literal["tensorboard"] | None = None,
    probe_every: int | None = None,
) -> list[Record]:
    """The records of all specs, in their order.

    Runs that have ended are read, others are continued. A run that fails is tried again, `attempts` times in all;
    then its record has the state `failed`, and the others go on. Several processes may work on one store at once:
    they share the runs. Attempts are counted by each call for itself: a later call, or another process on the same
    store, tries a failed run again, as often as it may. After Ctrl-C, or on a full disk, the same call continues.
    `probe_every` notes what is measured inside the models along training; results do not depend on it.
    """
    path = None if recipe_file is None else Path(recipe_file)
    how = Conditions(executor, workers, device, threads, attempts, path, watcher=watcher)
    at = store if isinstance(store, Store) else open_store(store)
    return train_runs(specs, at, how, log=log, probe_every=probe_every, checkpoint_seconds=checkpoint_seconds)


def train_runs(
    specs: Sequence[RunSpec],
    store: Store,
    how: Conditions,
    *,
    log: Literal["tensorboard"] | None = None,
    probe_every: int | None = None,
    checkpoint_seconds: float = 10.0,
) -> list[Record]:
    """`run_study` under conditions that are a value."""
    from semfocus.training.device import resolve_device

    at_least_one("probe_every", probe_every)
    _check_recipes(specs, how)
    resolve_device(how.device)
    watchers = [] if how.watcher is None else [how.watcher]
    if log is not None:
        watchers.append(_logger(log, store))
    make_directory(store.path)
    once = {spec.digest: spec for spec in specs}.values()
    items = [TrainingItem(spec, store, how, probe_every, checkpoint_seconds) for spec in once]
    schedule = Schedule(items, how.attempts, watchers)
    schedule.run(lambda hear: make_executor(how, hear))
    return [schedule.results[spec.digest] for spec in specs]


class TrainingItem:
    """One run in a schedule; its directory has what must survive."""

    def __init__(
        self,
        spec: RunSpec,
        store: Store,
        how: Conditions,
        probe_every: int | None,
        checkpoint_seconds: float,
    ) -> None:
        self.work = spec
        self.name = spec.digest
        self.place = str(store.path)
        self.directory = store.directory(spec)
        self.how, self.probe_every, self.checkpoint_seconds = how, probe_every, checkpoint_seconds

    def known(self) -> Record | None:
        return read_record(self.directory) if self.directory.has_ended else None

    def job(self) -> TrainingJob:
        return TrainingJob(
            run=self.name,
            spec=self.work.model_dump(mode="json"),
            store=str(Path(self.place).absolute()),
            device=self.how.device,
            threads=self.how.threads,
            checkpoint_seconds=self.checkpoint_seconds,
            recipe_file=self.how.recipe,
            probe_every=self.probe_every,
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


def _logger(name: str, store: Store) -> Watcher:
    if name != "tensorboard":
        raise ValueError(f"log must be 'tensorboard', got {name!r}")
    from semfocus.studies.tensorboard import TensorBoardLog

    return TensorBoardLog(store.path / "tensorboard")


def _check_recipes(specs: Sequence[RunSpec], how: Conditions) -> None:
    """What a worker would only find out later, for every run anew."""
    for wanted in {spec.recipe for spec in specs if spec.recipe is not None}:
        if how.recipe_file is None:
            raise ValueError(
                f"the runs use the recipe file of digest {wanted[:12]}: name it with recipe_file"
            )
        check_recipe(how.recipe_file, wanted)
    for spec in specs:
        for value in _values(spec):
            if how.executor != "serial" and spec.recipe is None and not _built_in(value):
                raise ValueError(
                    f"{value} is defined in {type(value).__module__}, which worker processes do not load: "
                    "put it in a recipe file and name that file, or use the serial executor"
                )


def _values(spec: RunSpec) -> list[object]:
    pattern: Pattern = spec.pattern_value
    return [spec.task_value, pattern, getattr(pattern, "base", pattern)]


def _built_in(value: object) -> bool:
    return type(value).__module__.split(".")[0] == "semfocus"
