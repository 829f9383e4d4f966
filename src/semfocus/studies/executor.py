"""What every executor of jobs can do: in this process, in a pool of processes, on a Ray cluster."""

import os
from collections.abc import Callable
from typing import Protocol

from semfocus.studies.job import Message
from semfocus.studies.kinds import AnyJob

#: hears what a job is called (its `run`) and a message about it
Hear = Callable[[str, Message], None]


class Executor(Protocol):
    """Takes jobs of any kind and tells what happens to them; nothing is told outside of `wait` and `stop`."""

    def free(self) -> int:
        """How many jobs could start now."""
        ...

    def start(self, job: AnyJob) -> None:
        """Begin a job; there must be a free place."""
        ...

    def wait(self, seconds: float) -> None:
        """Tell what has happened; if nothing has, wait for it, at most this long."""
        ...

    def stop(self) -> None:
        """Ask all jobs to save their state, and wait until they have."""
        ...

    def close(self) -> None:
        """End what is left at once."""
        ...


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
