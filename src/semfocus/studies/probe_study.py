"""Looking into all runs of a study: what is missing is measured, on the pool or here, and kept with each run."""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from semfocus.runs import RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.studies.arms import BASELINE, arm_of
from semfocus.studies.drive import drive
from semfocus.studies.execution import make_executor
from semfocus.studies.job import Message
from semfocus.studies.probe_job import Look, is_measured
from semfocus.studies.probe_plan import Probing

#: hears which run was looked into, how many are done and how many there are in all
Watch = Callable[[RunSpec, int, int], None]


def probing_for(spec: RunSpec, probing: Probing) -> Probing:
    """The same for every run, but other patterns are put on the scores of the baseline alone."""
    is_baseline = arm_of(spec.model_dump(mode="json")).label == BASELINE
    return probing if is_baseline else replace(probing, patterns=())


def probe_study(
    specs: Sequence[RunSpec],
    store: Store,
    probing: Probing,
    *,
    executor: str = "pool",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    attempts: int = 3,
    recipe_file: Path | None = None,
    watch: Watch = lambda spec, done, total: None,
) -> dict[str, str]:
    """Why runs could not be looked into, by the run's digest; empty if all were.

    After Ctrl-C or a kill the same call continues: each run is written when it was measured. Runs on Ray are looked
    into by processes of this machine, which has the store.
    """
    work = _Work(specs, store, probing, device, threads, attempts, recipe_file, watch)
    if not work.waiting:
        return work.errors
    name = "serial" if executor == "serial" else "pool"
    drive(work, make_executor(name, work.hear, workers, threads))
    return work.errors


class _Work:
    """What is still to do, and what was heard; everything that must survive is in the runs' directories."""

    def __init__(
        self,
        specs: Sequence[RunSpec],
        store: Store,
        probing: Probing,
        device: str,
        threads: int,
        attempts: int,
        recipe_file: Path | None,
        watch: Watch,
    ) -> None:
        self.specs = {spec.digest: spec for spec in specs}
        self.attempts = attempts
        self.watch = watch
        self.stopping = False
        self.errors: dict[str, str] = {}
        self.tries: Counter[str] = Counter()
        self.unfinished: dict[str, Look] = {}
        recipe = None if recipe_file is None else str(recipe_file.absolute())
        for run, spec in self.specs.items():
            directory, own = store.directory(spec), probing_for(spec, probing)
            try:
                if is_measured(directory, own):
                    continue
            except (ValueError, OSError, DamagedRun) as error:
                self.errors[run] = str(error)
                continue
            where = str(directory.path.absolute())
            self.unfinished[run] = Look(run, where, asdict(own), device, threads, recipe)
        self.waiting = deque(self.unfinished)
        self.total = len(self.unfinished)

    def next_job(self) -> Look:
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
