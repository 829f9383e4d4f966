"""Looking into one trained run as a job for any process on this machine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semfocus.runs import RunBusy, RunDirectory
from semfocus.runs.directory import DamagedRun
from semfocus.studies.job import Tell, failure, load_recipe_of
from semfocus.studies.probe_plan import Probing
from semfocus.studies.probing import is_known, probe_run
from semfocus.studies.probing_along import along_is_known, probe_along
from semfocus.training.replay import REACHING, epoch_reaching, readable_record


@dataclass(frozen=True)
class Look:
    """Plain values only; `run` is how executors call the job. The messages are `ended`, or `failed`."""

    run: str
    place: str
    probing: dict[str, Any]
    device: str
    threads: int
    recipe_file: str | None


def perform_look(look: Look, tell: Tell) -> None:
    """Measure what is missing; it is kept in the run's directory. Whatever goes wrong becomes a message, apart from Ctrl-C."""
    directory = RunDirectory(Path(look.place))
    try:
        load_recipe_of(directory.spec(), look.recipe_file, look.run)
        measure_all(directory, probing_of(look.probing), look.device, look.threads)
    except (ValueError, OSError, DamagedRun, RunBusy) as error:
        tell(failure(error, again=False))
    except Exception as error:
        tell(failure(error, again=True))
    else:
        tell({"event": "ended"})


def probing_of(values: dict[str, Any]) -> Probing:
    """As it was before it travelled as JSON, which has no tuples."""
    read: dict[str, Any] = {
        key: tuple(each) if isinstance(each, list) else each for key, each in values.items()
    }
    return Probing(**read)


def measure_all(directory: RunDirectory, probing: Probing, device: str = "auto", threads: int = 1) -> None:
    """Everything that a study wants to know of one run; what is known is not measured again."""
    for epoch in epochs_of(directory, probing):
        probe_run(
            directory,
            epoch=epoch,
            data=probing.data,
            samples=probing.samples,
            patterns=probing.patterns,
            device=device,
            threads=threads,
        )
    if probing.every is not None:
        probe_along(directory, probing.every)


def is_measured(directory: RunDirectory, probing: Probing) -> bool:
    """Whether nothing is left to measure."""
    return all(
        is_known(
            directory, epoch=epoch, data=probing.data, samples=probing.samples, patterns=probing.patterns
        )
        for epoch in epochs_of(directory, probing)
    ) and (probing.every is None or along_is_known(directory, probing.every))


def epochs_of(directory: RunDirectory, probing: Probing) -> list[str]:
    """Those of the plan, without accuracies that the run never reached."""
    record = readable_record(directory)
    return [
        epoch
        for epoch in probing.epochs
        if not epoch.startswith(REACHING)
        or epoch_reaching(record, float(epoch.removeprefix(REACHING))) is not None
    ]
