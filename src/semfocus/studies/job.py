"""One run as a job for any process: what it is asked in plain values, and what it answers."""

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from semfocus.runs import RunBusy, RunSpec, Store, load_recipe
from semfocus.runs.directory import DamagedRun
from semfocus.runs.journal import CorruptJournal
from semfocus.training import EpochResult, Observer, run

#: `event` is started, epoch (with the row), ended, busy (another process has the run), or failed
Message = dict[str, Any]
Tell = Callable[[Message], None]

#: characters, from the end, where the error is
_LONGEST_TRACEBACK = 20_000


@dataclass(frozen=True)
class Job:
    """Plain values only, so that a job can be sent as JSON; `run` is the digest of the spec."""

    run: str
    spec: dict[str, Any]
    store: str
    device: str
    threads: int
    checkpoint_seconds: float
    recipe_file: str | None
    #: measure inside the model every so many epochs; see along_training.py
    probe_every: int | None = None


def perform(job: Job, tell: Tell, observers: Sequence[Observer] = ()) -> None:
    """Do the job; whatever goes wrong with it becomes a message, apart from Ctrl-C."""
    try:
        spec = spec_of(job)
    except (ValueError, OSError) as error:
        tell(failure(error, again=False))
        return
    try:
        run(
            spec,
            Store(Path(job.store)),
            observers=[*_probing(job), Teller(tell), *observers],
            device=job.device,
            threads=job.threads,
            checkpoint_seconds=job.checkpoint_seconds,
        )
    except RunBusy:
        tell({"event": "busy"})
    except (DamagedRun, CorruptJournal) as error:
        tell(failure(error, again=False))
    except Exception as error:
        tell(failure(error, again=True))
    else:
        tell({"event": "ended"})


def _probing(job: Job) -> list[Observer]:
    """Before the others: a message that an epoch has ended may be the end of this process, and its rows must be there."""
    if job.probe_every is None:
        return []
    from semfocus.studies.along_training import ProbeObserver

    return [ProbeObserver(job.probe_every)]


def spec_of(job: Job) -> RunSpec:
    """The spec, after loading the recipe file that it names by its digest."""
    load_recipe_of(job.spec, job.recipe_file, job.run)
    spec = RunSpec(**job.spec)
    if spec.digest != job.run:
        raise ValueError(f"run {job.run} is {spec.digest} here: another version of semfocus?")
    return spec


def load_recipe_of(spec: Mapping[str, Any], file: str | None, run: str) -> None:
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


class Teller(Observer):
    """Turns what happens in training into messages."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell

    def run_started(self, first_epoch: int, last_epoch: int) -> None:
        self.tell({"event": "started"})

    def epoch_ended(self, result: EpochResult) -> None:
        self.tell({"event": "epoch", "row": asdict(result)})
