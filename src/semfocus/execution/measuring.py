"""Measuring runs that are there: what is missing is computed by any executor, and kept with each run."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semfocus.execution.display import Described, display
from semfocus.execution.executor import make_executor, refuse_unknown
from semfocus.execution.jobs import MeasuringJob, Message
from semfocus.execution.progress import Watcher
from semfocus.execution.schedule import Schedule
from semfocus.measurements import Landscape, Measurement
from semfocus.measurements.landscape.grids import missing_parts
from semfocus.measurements.landscape.place import LandscapeDirectory
from semfocus.runs import RunBusy, RunDirectory, RunSpec, Store
from semfocus.runs.arms import run_title, varying_keys
from semfocus.runs.directory import DamagedRun

#: what is wrong with one run, and does not stop the others
UNMEASURABLE = (ValueError, OSError, DamagedRun, RunBusy)


@dataclass(frozen=True)
class Measured:
    """One part of a measurement of one run: what a watcher hears of."""

    digest: str
    directory: RunDirectory
    measurement: Measurement
    part: Any
    #: None where nobody knows the spec without reading it
    spec: RunSpec | None = None

    @property
    def size(self) -> int:
        return self.measurement.size(self.part)


@dataclass(frozen=True)
class MeasuringItem:
    """Nothing is known before; what comes is kept in the run's directory."""

    work: Measured
    device: str
    threads: int
    recipe_file: str | None

    @property
    def name(self) -> str:
        return self.work.digest

    @property
    def place(self) -> str:
        return str(self.work.directory.path)

    def known(self) -> str | None:
        """Nothing is wrong, if another process has kept it meanwhile."""
        try:
            known = self.work.measurement.is_known(self.work.directory, self.work.part)
        except (DamagedRun, OSError) as error:
            return str(error)
        return "" if known else None

    def job(self) -> MeasuringJob:
        work = self.work
        return MeasuringJob(
            run=self.name,
            place=str(work.directory.path.absolute()),
            measurement=work.measurement.name,
            options=work.measurement.values(),
            part=work.part,
            device=self.device,
            threads=self.threads,
            recipe_file=self.recipe_file,
        )

    def finished(self, message: Message) -> str:
        """Keep it; what cannot be kept is a failure of this run alone."""
        try:
            self.work.measurement.keep(self.work.directory, self.work.part, message["found"])
        except (DamagedRun, RunBusy, ValueError, TypeError) as error:
            return str(error)
        return ""

    def attempt_failed(self, message: Message) -> None:
        """It is in the result."""

    def failed(self, message: Message) -> str:
        return str(message["reason"])


def compute_parts(
    parts: Sequence[Measured],
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    attempts: int = 3,
    recipe_file: Path | None = None,
    quiet: bool = True,
    watcher: Watcher | None = None,
) -> dict[str, str]:
    """Why parts failed, by the digest of the part; empty if none did.

    After Ctrl-C or a kill the same call continues with what is missing.
    """
    refuse_unknown(executor)
    recipe = None if recipe_file is None else str(recipe_file.absolute())
    items = [MeasuringItem(part, device, threads, recipe) for part in parts]
    with display(described_parts(parts), quiet=quiet, noun="parts measured") as shown:
        schedule = Schedule(items, attempts, [shown, *([] if watcher is None else [watcher])])
        schedule.run(lambda hear: make_executor(executor, hear, workers, threads))
    return {name: reason for name, reason in schedule.results.items() if reason}


def parts_of(
    measurement: Measurement,
    directory: RunDirectory,
    spec: RunSpec | None,
    device: str,
    threads: int,
    place: int = 0,
) -> list[Measured]:
    """What a measurement lacks in one run; `place`: its own in the list of measurements, which may have two of a kind."""
    return [
        Measured(f"{directory.name}/{measurement.name}/{place}-{number}", directory, measurement, part, spec)
        for number, part in enumerate(measurement.missing(directory, device, threads))
    ]


def measure_runs(
    measurements: Sequence[Measurement],
    specs: Sequence[RunSpec],
    store: Store,
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    attempts: int = 3,
    recipe_file: Path | None = None,
    quiet: bool = True,
    watcher: Watcher | None = None,
) -> dict[tuple[str, str], str]:
    """Why measurements could not be made, by the run's digest and the measurement's name; empty if all were."""
    errors: dict[tuple[str, str], str] = {}
    parts: list[Measured] = []
    with ExitStack() as owned:
        for place, measurement in enumerate(measurements):
            for spec in specs:
                own, directory = measurement.of(spec), store.directory(spec)
                try:
                    found = [] if own is None else parts_of(own, directory, spec, device, threads, place)
                    if own is not None and found:
                        owned.enter_context(own.owned(directory, [each.part for each in found]))
                except UNMEASURABLE as error:
                    errors[spec.digest, measurement.name] = str(error)
                else:
                    parts += found
        failed = compute_parts(
            parts,
            executor=executor,
            workers=workers,
            device=device,
            threads=threads,
            attempts=attempts,
            recipe_file=recipe_file,
            quiet=quiet,
            watcher=watcher,
        )
    for name, reason in failed.items():
        run, measured, _ = name.split("/")
        errors.setdefault((run, measured), reason)
    return errors


def survey(
    places: Sequence[LandscapeDirectory],
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    attempts: int = 3,
    recipe_file: Path | None = None,
    quiet: bool = True,
    watcher: Watcher | None = None,
) -> None:
    """Compute what landscapes lack, row by row. After Ctrl-C or a kill the same call continues, and gives the same bits."""
    parts = []
    with ExitStack() as owned:
        for place in places:
            owned.enter_context(place.owned())
            run = RunDirectory(place.path.parent.parent)
            parts += [
                Measured(f"{run.name}/{place.name}/{part['row']}", run, Landscape(), part)
                for part in missing_parts(place)
            ]
        failed = compute_parts(
            parts,
            executor=executor,
            workers=workers,
            device=device,
            threads=threads,
            attempts=attempts,
            recipe_file=recipe_file,
            quiet=quiet,
            watcher=watcher,
        )
    for name, reason in failed.items():
        raise ValueError(f"landscape {name.partition('/')[2]}: {reason}")


def described_parts(parts: Sequence[Measured]) -> list[Described]:
    """Parts of measurements, as they are shown."""
    tasks = {part.spec.task for part in parts if part.spec is not None}
    keys = varying_keys(part.spec.model_dump(mode="json") for part in parts if part.spec is not None)
    return [
        Described(
            part.digest,
            f"{part.measurement.name}: {_title(part, keys, tasks)}",
            part.size,
            reached=lambda row: 0,
            words=lambda row: (),
            ended=lambda reason: ("failed", reason) if reason else ("done", "measured"),
            kind=part.measurement.name,
            unit="point",
            is_minor=part.size > 1,
        )
        for part in parts
    ]


def _title(part: Measured, keys: Sequence[str], tasks: set[str]) -> str:
    if part.spec is None:
        return f"run {part.directory.name[:8]}"
    return run_title(part.spec.model_dump(mode="json"), keys, tasks)
