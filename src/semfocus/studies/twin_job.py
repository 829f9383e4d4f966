"""A run and its twin as a job for any process on this machine."""

from dataclasses import dataclass
from typing import Any

from semfocus.runs import RunBusy, RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.studies.job import Tell, failure, load_recipe_of
from semfocus.studies.twins import twin_distances


@dataclass(frozen=True)
class TwinPair:
    """Plain values only; `run` is how executors call the job. The messages are `ended`, or `failed`."""

    run: str
    spec: dict[str, Any]
    store: str
    device: str
    threads: int
    recipe_file: str | None


def perform_twin_pair(pair: TwinPair, tell: Tell) -> None:
    """Train both and keep their distances; whatever goes wrong becomes a message, apart from Ctrl-C."""
    try:
        load_recipe_of(pair.spec, pair.recipe_file, pair.run)
        twin_distances(RunSpec(**pair.spec), Store(pair.store), device=pair.device, threads=pair.threads)
    except (ValueError, OSError, DamagedRun, RunBusy) as error:
        tell(failure(error, again=False))
    except Exception as error:
        tell(failure(error, again=True))
    else:
        tell({"event": "ended"})
