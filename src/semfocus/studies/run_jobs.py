"""One job a run, about runs that are there: worked through on the pool or here, and what went wrong told by run."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence

from semfocus.runs import RunSpec
from semfocus.studies.drive import drive
from semfocus.studies.execution import make_executor
from semfocus.studies.job import Message
from semfocus.studies.kinds import AnyJob

#: hears the run whose job is over, how many are and how many there are in all
Watch = Callable[[RunSpec, int, int], None]


def work_through(
    jobs: Mapping[str, AnyJob],
    specs: Sequence[RunSpec],
    *,
    executor: str,
    workers: int | None,
    threads: int,
    attempts: int = 3,
    watch: Watch = lambda spec, done, total: None,
) -> dict[str, str]:
    """Why jobs failed, by the run's digest, which also names the job; empty if none did.

    What a job finds out it keeps itself, in the run's directory. Jobs are done by processes of this machine, which has the store,
    also in a study whose runs are trained on Ray.
    """
    work = _Work(jobs, specs, attempts, watch)
    if jobs:
        name = "serial" if executor == "serial" else "pool"
        drive(work, make_executor(name, work.hear, workers, threads))
    return work.errors


class _Work:
    """What is still to do, and what was heard."""

    def __init__(
        self, jobs: Mapping[str, AnyJob], specs: Sequence[RunSpec], attempts: int, watch: Watch
    ) -> None:
        self.specs = {spec.digest: spec for spec in specs}
        self.attempts = attempts
        self.watch = watch
        self.stopping = False
        self.errors: dict[str, str] = {}
        self.tries: Counter[str] = Counter()
        self.unfinished = dict(jobs)
        self.waiting = deque(self.unfinished)
        self.total = len(self.unfinished)

    def next_job(self) -> AnyJob:
        run = self.waiting.popleft()
        self.tries[run] += 1
        return self.unfinished[run]

    def hear(self, run: str, message: Message) -> None:
        """What an executor tells."""
        if self.stopping or message["event"] not in ("ended", "failed"):
            return
        if message["event"] == "failed":
            if message["again"] and self.tries[run] < self.attempts:
                self.waiting.append(run)
                return
            self.errors[run] = message["reason"]
        del self.unfinished[run]
        self.watch(self.specs[run], self.total - len(self.unfinished), self.total)
