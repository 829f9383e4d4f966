"""Measuring runs that are there: what is missing is computed by any executor, and kept with each run."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from semfocus.execution.display import Described, display
from semfocus.execution.executor import Conditions, make_executor
from semfocus.execution.jobs import MeasuringJob, Message
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
class MeasuredPart:
    """One part of a measurement of one run: what a watcher hears of."""

    digest: str
    directory: RunDirectory
    measurement: Measurement
    part: Any
    hold: "Hold"
    #: None where nobody knows the spec without reading it
    spec: RunSpec | None = None

    @property
    def size(self) -> int:
        return self.measurement.size(self.part)


class Hold:
    """What is held while parts are computed; taken with the first of them, or when another process has let go of it."""

    def __init__(self, held: ExitStack, own: Callable[[], AbstractContextManager[object]]) -> None:
        self._held, self._own, self._is_ours = held, own, False

    def take(self) -> None:
        """RunBusy while another process has it."""
        if not self._is_ours:
            self._held.enter_context(self._own())
            self._is_ours = True


@dataclass(frozen=True)
class MeasuringItem:
    """Nothing is known before; what comes is kept in the run's directory."""

    work: MeasuredPart
    how: Conditions

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
        work.hold.take()
        return MeasuringJob(
            run=self.name,
            place=str(work.directory.path.absolute()),
            measurement=work.measurement.name,
            options=work.measurement.values(),
            part=work.part,
            device=self.how.device,
            threads=self.how.threads,
            recipe_file=self.how.recipe,
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


def compute_parts(parts: Sequence[MeasuredPart], how: Conditions) -> dict[str, str]:
    """Why parts failed, by the digest of the part; empty if none did.

    After Ctrl-C or a kill the same call continues with what is missing.
    """
    items = [MeasuringItem(part, how) for part in parts]
    with display(described_parts(parts), quiet=how.quiet, noun="parts measured") as shown:
        schedule = Schedule(items, how.attempts, [shown, *([] if how.watcher is None else [how.watcher])])
        schedule.run(lambda hear: make_executor(how, hear))
    return {name: reason for name, reason in schedule.results.items() if reason}


def measure_runs(
    measurements: Sequence[Measurement], specs: Sequence[RunSpec], store: Store, how: Conditions
) -> dict[tuple[str, str], str]:
    """Why measurements could not be made, by the run's digest and the measurement's name; empty if all were."""
    errors: dict[tuple[str, str], str] = {}
    parts: list[MeasuredPart] = []
    with ExitStack() as held:
        for place, measurement in enumerate(measurements):  # there may be two of a kind
            for spec in specs:
                own, directory = measurement.of(spec), store.directory(spec)
                if own is None:
                    continue
                try:
                    missing = own.missing(directory, how.device, how.threads)
                except UNMEASURABLE as error:
                    errors[spec.digest, measurement.name] = str(error)
                    continue
                hold = Hold(held, partial(own.owned, directory, missing))
                parts += [
                    MeasuredPart(
                        f"{directory.name}/{own.name}/{place}-{number}", directory, own, part, hold, spec
                    )
                    for number, part in enumerate(missing)
                ]
        failed = compute_parts(parts, how)
    for name, reason in failed.items():
        run, measured, _ = name.split("/")
        errors.setdefault((run, measured), reason)
    return errors


def survey(places: Sequence[LandscapeDirectory], how: Conditions) -> None:
    """Compute what landscapes lack, row by row.

    After Ctrl-C or a kill the same call continues, and gives the same bits.
    """
    parts = []
    with ExitStack() as held:
        for place in places:
            run, hold = RunDirectory(place.path.parent.parent), Hold(held, place.owned)
            parts += [
                MeasuredPart(f"{run.name}/{place.name}/{part['row']}", run, Landscape(), part, hold)
                for part in missing_parts(place)
            ]
        failed = compute_parts(parts, how)
    for name, reason in failed.items():
        raise ValueError(f"landscape {name.partition('/')[2]}: {reason}")


def described_parts(parts: Sequence[MeasuredPart]) -> list[Described]:
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


def _title(part: MeasuredPart, keys: Sequence[str], tasks: set[str]) -> str:
    if part.spec is None:
        return f"run {part.directory.name[:8]}"
    return run_title(part.spec.model_dump(mode="json"), keys, tasks)
