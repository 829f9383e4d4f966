"""Running a list of specs: every run once, whatever happens to the others."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from semfocus.execution.executor import make_executor, refuse_unknown
from semfocus.execution.jobs import check_recipe
from semfocus.execution.progress import Watcher
from semfocus.execution.schedule import Schedule
from semfocus.execution.training import TrainingOptions, training_items
from semfocus.mechanisms import Pattern
from semfocus.runs import RunSpec, Store, open_store
from semfocus.runs.record import Record

ExecutorName = Literal["serial", "pool", "ray"]


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
    from semfocus.training.device import resolve_device

    at = store if isinstance(store, Store) else open_store(store)
    for name, value in (
        ("workers", workers),
        ("threads", threads),
        ("attempts", attempts),
        ("probe_every", probe_every),
    ):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    _check_recipes(specs, executor, recipe_file)
    resolve_device(device)
    watchers = [] if watcher is None else [watcher]
    if log is not None:
        watchers.append(_logger(log, at))
    options = TrainingOptions(
        device=device,
        threads=threads,
        checkpoint_seconds=checkpoint_seconds,
        recipe_file=None if recipe_file is None else str(Path(recipe_file).absolute()),
        probe_every=probe_every,
    )
    at.path.mkdir(parents=True, exist_ok=True)
    schedule = Schedule(training_items(specs, at, options), attempts, watchers)
    schedule.run(lambda hear: make_executor(executor, hear, workers, threads))
    return [schedule.results[spec.digest] for spec in specs]


def _logger(name: str, store: Store) -> Watcher:
    if name != "tensorboard":
        raise ValueError(f"log must be 'tensorboard', got {name!r}")
    from semfocus.studies.tensorboard import TensorBoardLog

    return TensorBoardLog(store.path / "tensorboard")


def _check_recipes(
    specs: Sequence[RunSpec], executor: str, recipe_file: str | os.PathLike[str] | None
) -> None:
    """What a worker would only find out later, for every run anew."""
    refuse_unknown(executor)
    for wanted in {spec.recipe for spec in specs if spec.recipe is not None}:
        if recipe_file is None:
            raise ValueError(f"the runs use the recipe file of digest {wanted[:12]}: say which it is")
        check_recipe(Path(recipe_file), wanted)
    for spec in specs:
        for value in _values(spec):
            if executor != "serial" and spec.recipe is None and not _built_in(value):
                raise ValueError(
                    f"{value} is defined in {type(value).__module__}, which worker processes do not load: "
                    "put it in a recipe file and name that file, or use the serial executor"
                )


def _values(spec: RunSpec) -> list[object]:
    pattern: Pattern = spec.pattern_value
    return [spec.task_value, pattern, getattr(pattern, "base", pattern)]


def _built_in(value: object) -> bool:
    return type(value).__module__.split(".")[0] == "semfocus"
