"""Who performs jobs, and under which conditions: this process, a pool of processes, a Ray cluster."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, get_args

from semfocus.execution.jobs import Job, Message
from semfocus.execution.progress import Watcher

#: hears what a job is called (its `run`) and a message about it
Hear = Callable[[str, Message], None]
ExecutorName = Literal["serial", "pool", "ray"]


@dataclass(frozen=True)
class Conditions:
    """How work is done, and who hears of it; none of it changes a result."""

    executor: ExecutorName = "pool"
    workers: int | None = None
    device: str = "auto"
    threads: int = 1
    #: how often something that fails is tried in all
    attempts: int = 3
    #: a user's file, with patterns, tasks and measurements of their own
    recipe_file: Path | None = None
    quiet: bool = True
    watcher: Watcher | None = None

    def __post_init__(self) -> None:
        if self.executor not in get_args(ExecutorName):
            raise ValueError(f"executor must be serial, pool or ray, got {self.executor!r}")
        for name in ("workers", "threads", "attempts"):
            at_least_one(name, getattr(self, name))

    @property
    def recipe(self) -> str | None:
        """The user's file as a job names it."""
        return None if self.recipe_file is None else str(self.recipe_file.absolute())


def at_least_one(name: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise ValueError(f"{name} must be at least 1, got {value}")


class Executor(Protocol):
    """Takes jobs of any kind and reports what happens to them; nothing is reported outside of `wait` and `stop`."""

    def free(self) -> int:
        """How many jobs could start now."""
        ...

    def start(self, job: Job) -> None:
        """Begin a job; there must be a free place."""
        ...

    def wait(self, seconds: float) -> None:
        """Report what has happened; if nothing has, wait for it, at most this long."""
        ...

    def stop(self) -> None:
        """Ask all jobs to save their state, and wait until they have."""
        ...

    def close(self) -> None:
        """End what is left at once."""
        ...


class Serial:
    """One place; `wait` does the job itself, and Ctrl-C reaches the training directly."""

    def __init__(self, hear: Hear) -> None:
        self.hear = hear
        self.job: Job | None = None

    def free(self) -> int:
        return 1 if self.job is None else 0

    def start(self, job: Job) -> None:
        self.job = job

    def wait(self, seconds: float) -> None:
        job, self.job = self.job, None
        if job is None:
            time.sleep(seconds)
        else:
            job.perform(lambda message: self.hear(job.run, message))

    def stop(self) -> None:
        """Nothing runs outside of `wait`."""

    def close(self) -> None:
        """Nothing runs outside of `wait`."""


def make_executor(how: Conditions, hear: Hear) -> Executor:
    """The executor of these conditions."""
    if how.executor == "serial":
        return Serial(hear)
    if how.executor == "pool":
        from semfocus.execution.executors.pool import Pool

        return Pool(how.workers or max(1, usable_cores() // how.threads), how.threads, hear)
    from semfocus.execution.executors.ray import RayExecutor

    return RayExecutor(how.workers, how.threads, hear)


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
