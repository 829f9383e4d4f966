"""Jobs for any process: what is asked in plain values, what is answered, how both travel as lines of text."""

import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol

from semfocus.measurements import measurement_of
from semfocus.measurements.measurement import Notify
from semfocus.runs import RunBusy, RunDirectory, RunSpec, Store, load_recipe
from semfocus.runs.directory import DamagedRun
from semfocus.runs.journal import CorruptJournal
from semfocus.training import EpochResult, Observer, run

#: `event` is started, epoch (with the row), point, ended (with what was found), busy (another process has
#: it), or failed
Message = dict[str, Any]

#: characters, from the end, where the error is
_LONGEST_TRACEBACK = 20_000


#: every kind of job, and where its class is: a worker imports a room above this one only for a job of that kind
KINDS = {
    "train": ("semfocus.execution.jobs", "TrainingJob"),
    "measure": ("semfocus.execution.jobs", "MeasuringJob"),
    "trial": ("semfocus.trial.jobs", "TrialJob"),
}


class Job(Protocol):
    """A frozen dataclass of plain values; `run` is how executors call the job."""

    kind: ClassVar[str]

    @property
    def run(self) -> str: ...

    def perform(self, notify: Notify) -> None:
        """Do it, in whatever process; errors become messages, apart from Ctrl-C."""
        ...


@dataclass(frozen=True)
class TrainingJob:
    """Train a run; `run` is the digest of the spec."""

    kind: ClassVar[str] = "train"

    run: str
    spec: dict[str, Any]
    store: str
    device: str
    threads: int
    checkpoint_seconds: float
    recipe_file: str | None
    #: measure inside the model every N epochs; see measurements/training_probe.py
    probe_every: int | None = None

    def perform(self, notify: Notify) -> None:
        train(self, notify)


@dataclass(frozen=True)
class MeasuringJob:
    """Find out one part of a measurement of the run in the directory `place`."""

    kind: ClassVar[str] = "measure"

    run: str
    place: str
    measurement: str
    options: dict[str, Any]
    part: Any
    device: str
    threads: int
    recipe_file: str | None

    def perform(self, notify: Notify) -> None:
        measure(self, notify)


def train(job: TrainingJob, notify: Notify, observers: Sequence[Observer] = ()) -> None:
    """Do a training job; whatever goes wrong with it becomes a message, apart from Ctrl-C."""
    try:
        spec = _spec_of(job)
    except (ValueError, OSError) as error:
        notify(failure(error, again=False))
        return
    try:
        run(
            spec,
            Store(Path(job.store)),
            observers=[*_probing(job), Notifier(notify), *observers],
            device=job.device,
            threads=job.threads,
            checkpoint_seconds=job.checkpoint_seconds,
        )
    except RunBusy:
        notify({"event": "busy"})
    except (DamagedRun, CorruptJournal) as error:
        notify(failure(error, again=False))
    except Exception as error:
        notify(failure(error, again=True))
    else:
        notify({"event": "ended"})


def measure(job: MeasuringJob, notify: Notify) -> None:
    """Do a measuring job; the answer comes with the message that it has ended."""
    directory = RunDirectory(Path(job.place))
    try:
        _load_recipe_of(directory.spec(), job.recipe_file, directory.name)
        if job.recipe_file is not None:
            load_recipe(
                Path(job.recipe_file)
            )  # its own measurements, also where another file has used their names
        measurement = measurement_of(job.measurement, job.options)
        found = measurement.compute(
            directory, job.part, device=job.device, threads=job.threads, notify=notify
        )
        json.dumps(found)  # what cannot travel is an error of this measurement, not of the worker
    except (ValueError, TypeError, OSError, DamagedRun, RunBusy) as error:
        notify(failure(error, again=False))
    except Exception as error:
        notify(failure(error, again=True))
    else:
        notify({"event": "ended", "found": found})


def as_line(job: Job) -> str:
    return json.dumps({"kind": job.kind, **asdict(job)})  # type: ignore[call-overload]  # jobs are dataclasses


def from_line(line: str) -> Job:
    values = json.loads(line)
    module, name = KINDS[values.pop("kind")]
    job: Job = getattr(import_module(module), name)(**values)
    return job


def _probing(job: TrainingJob) -> list[Observer]:
    """Before the others: a message that an epoch has ended may be the end of this process, and its rows must
    be there.
    """
    if job.probe_every is None:
        return []
    from semfocus.measurements.training_probe import ProbeObserver

    return [ProbeObserver(job.probe_every)]


def _spec_of(job: TrainingJob) -> RunSpec:
    """The spec, after loading the recipe file that it names by its digest."""
    _load_recipe_of(job.spec, job.recipe_file, job.run)
    spec = RunSpec(**job.spec)
    if spec.digest != job.run:
        raise ValueError(f"run {job.run} is {spec.digest} here: another version of semfocus?")
    return spec


def _load_recipe_of(spec: Mapping[str, Any], file: str | None, run: str) -> None:
    """Load the recipe file that a spec names by its digest, if it names one."""
    wanted = spec["recipe"]
    if wanted is None:
        return
    if file is None:
        raise ValueError(f"run {run} needs the recipe file of digest {wanted[:12]}")
    check_recipe(Path(file), wanted)


def check_recipe(path: Path, wanted: str) -> None:
    """Load a recipe file, which must be the one that the spec was made with."""
    found = load_recipe(path)[1]
    if found != wanted:
        raise ValueError(
            f"the recipe file {path} has digest {found[:12]}, the runs were specified with {wanted[:12]}"
        )


def failure(error: Exception, *, again: bool) -> Message:
    """The message about an error; `again` says whether another attempt may help."""
    return {
        "event": "failed",
        "kind": type(error).__name__,
        "reason": str(error) or type(error).__name__,
        "errno": getattr(error, "errno", None),
        "file": str(getattr(error, "filename", None) or ""),
        "traceback": "".join(traceback.format_exception(error))[-_LONGEST_TRACEBACK:],
        "again": again,
    }


class Notifier(Observer):
    """Turns what happens in training into messages."""

    def __init__(self, notify: Notify) -> None:
        self.notify = notify

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        self.notify({"event": "started"})

    def epoch_ended(self, result: EpochResult) -> None:
        self.notify({"event": "epoch", "row": asdict(result)})
