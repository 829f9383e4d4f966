"""Working through jobs on an executor: start what waits while there is room, hear what happens, stop in order."""

from collections.abc import Collection
from typing import Protocol

from semfocus.studies.executor import Executor
from semfocus.studies.kinds import AnyJob


class Work(Protocol):
    """Jobs that wait to be started, and those that are not over, waiting ones among them."""

    #: set when the work is given up: what is heard afterwards does not count
    stopping: bool

    @property
    def waiting(self) -> Collection[str]: ...
    @property
    def unfinished(self) -> Collection[str]: ...
    def next_job(self) -> AnyJob: ...


def drive(work: Work, doing: Executor) -> None:
    """Until nothing is left; on any error, Ctrl-C too, the jobs under way are asked to save their state."""
    try:
        while work.unfinished:
            while work.waiting and doing.free():
                doing.start(work.next_job())
            doing.wait(1.0)
    except BaseException:
        work.stopping = True
        doing.stop()
        raise
    finally:
        doing.close()
