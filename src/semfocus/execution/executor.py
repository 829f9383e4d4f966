"""What every executor of jobs can do: in this process, in a pool of processes, on a Ray cluster."""

import os
from collections.abc import Callable
from typing import Protocol

from semfocus.execution.jobs import Job, Message

#: hears what a job is called (its `run`) and a message about it
Hear = Callable[[str, Message], None]
NAMES = ("serial", "pool", "ray")


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


def make_executor(
    name: str, hear: Hear, workers: int | None, threads: int, program: str = "semfocus.execution.worker"
) -> Executor:
    """The executor of this name; `program`: the module that worker processes of the pool run."""
    refuse_unknown(name)
    if name == "serial":
        from semfocus.execution.executors.serial import Serial

        return Serial(hear)
    if name == "pool":
        from semfocus.execution.executors.pool import Pool

        return Pool(workers or max(1, usable_cores() // threads), threads, hear, program)
    from semfocus.execution.executors.ray import RayExecutor

    return RayExecutor(workers, threads, hear)


def refuse_unknown(name: str) -> None:
    if name not in NAMES:
        raise ValueError(f"executor must be serial, pool or ray, got {name!r}")


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
