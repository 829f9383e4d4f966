"""Which run comes next: finished ones are read, failed ones tried again, those of another process waited for."""

import errno
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from semfocus.runs import RunBusy, RunDirectory, RunSpec, Store
from semfocus.runs.directory import DamagedRun
from semfocus.runs.journal import CorruptJournal
from semfocus.runs.record import Record, read_record
from semfocus.studies.executor import Executor, Hear
from semfocus.studies.job import Job, Message
from semfocus.studies.watcher import StudyWatcher

#: a run that another process has is looked at again after these seconds, then after twice as many, up to the last
_FIRST_LOOK, _LAST_LOOK = 0.25, 2.0
#: errors that every run would meet: the study stops and says so, instead of failing run after run
_CONCERNS_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


@dataclass(frozen=True)
class JobOptions:
    """What all jobs of a study share."""

    device: str
    threads: int
    checkpoint_seconds: float
    recipe_file: str | None
    probe_every: int | None = None


class Schedule:
    """The state of one invocation; everything that must survive it is in the run directories."""

    def __init__(
        self,
        specs: Sequence[RunSpec],
        store: Store,
        options: JobOptions,
        attempts: int,
        watchers: Sequence[StudyWatcher],
    ) -> None:
        self.store = store
        self.options = options
        self.attempts = attempts
        self.watchers = watchers
        self.specs = {spec.digest: spec for spec in specs}
        self.records: dict[str, Record] = {}
        self.waiting = deque(self.specs)
        self.tries: Counter[str] = Counter()
        self.look_after: dict[str, float] = {}  # seconds to wait for runs that another process has
        self.not_before: dict[str, float] = {}
        self.stopping = False

    def run(self, make_executor: Callable[[Hear], Executor]) -> None:
        """Until every run has a record. Ctrl-C and errors that concern all runs save the others' state first."""
        self._read_finished()
        if not self.waiting:
            return
        executor = make_executor(self.hear)
        try:
            while len(self.records) < len(self.specs):
                self._give_out(executor)
                executor.wait(self._patience())
        except BaseException:
            self.stopping = True
            executor.stop()
            raise
        finally:
            executor.close()

    def _read_finished(self) -> None:
        for run in list(self.waiting):
            if self._has_ended(run):
                self.waiting.remove(run)
                self._end(run, read_record(self._directory(run)))

    def _directory(self, run: str) -> RunDirectory:
        return self.store.directory(self.specs[run])

    def _has_ended(self, run: str) -> bool:
        return self._directory(run).has_ended

    def _give_out(self, executor: Executor) -> None:
        for _ in range(len(self.waiting)):
            if not executor.free():
                return
            run = self.waiting.popleft()
            if self.not_before.get(run, 0.0) > time.monotonic():
                self.waiting.append(run)
            elif self._has_ended(run):
                self._end(run, read_record(self._directory(run)))
            else:
                self.tries[run] += 1
                executor.start(self._job(run))

    def _job(self, run: str) -> Job:
        spec = self.specs[run].model_dump(mode="json")
        return Job(run=run, spec=spec, store=str(self.store.path.absolute()), **asdict(self.options))

    def _patience(self) -> float:
        """Seconds until a run that another process has should be looked at; at most one, at least a moment."""
        now = time.monotonic()
        return min([1.0, *(max(0.01, self.not_before.get(run, now + 1) - now) for run in self.waiting)])

    def hear(self, run: str, message: Message) -> None:
        """What an executor tells."""
        if self.stopping:
            return
        spec, event = self.specs[run], message["event"]
        if event == "started":
            for watcher in self.watchers:
                watcher.run_started(spec, self.tries[run])
        elif event == "epoch":
            for watcher in self.watchers:
                watcher.epoch_ended(spec, message["row"])
        elif event == "ended":
            self._end(run, read_record(self._directory(run)))
        elif event == "busy":
            self._put_back(run)
        else:
            self._failed(run, message)

    def _put_back(self, run: str) -> None:
        """Another process has it: later it has ended, or is free again."""
        self.tries[run] -= 1
        delay = self.look_after.get(run, _FIRST_LOOK)
        self.look_after[run] = min(2 * delay, _LAST_LOOK)
        self.not_before[run] = time.monotonic() + delay
        self.waiting.append(run)

    def _failed(self, run: str, message: Message) -> None:
        if message.get("errno") in _CONCERNS_ALL:
            number = message["errno"]
            raise OSError(number, os.strerror(number), message.get("file") or str(self.store.path))
        if self._has_ended(run):  # the worker was ended between writing the record and saying so
            self._end(run, read_record(self._directory(run)))
            return
        self._note(run, message["kind"], message["reason"], message.get("traceback"))
        for watcher in self.watchers:
            watcher.run_failed(self.specs[run], self.tries[run], message["reason"])
        if message["again"] and self.tries[run] < self.attempts:
            self.waiting.append(run)
        else:
            self._end(run, self._record_of_failure(run, message["reason"]))

    def _note(self, run: str, kind: str, reason: str, traceback: str | None) -> None:
        """Write the failure into the journal, unless the worker could do so itself, and its traceback beside it."""
        directory = self._directory(run)
        directory.create(self.specs[run].model_dump(mode="json"))
        # Busy: another process has already gone on with it. Damaged: nothing can be added, and reading says so.
        with suppress(RunBusy, DamagedRun, CorruptJournal), directory.owned():
            last: dict[str, Any] = (directory.events() or [{}])[-1]
            if (last.get("event"), last.get("reason")) != ("failed", reason):
                directory.note("failed", kind=kind, reason=reason)
            if traceback:
                directory.write_failure(traceback)

    def _record_of_failure(self, run: str, reason: str) -> Record:
        record = read_record(self._directory(run))
        return (
            record
            if record["state"] in ("failed", "corrupt")
            else record | {"state": "failed", "reason": reason}
        )

    def _end(self, run: str, record: Record) -> None:
        self.records[run] = record
        for watcher in self.watchers:
            watcher.run_ended(self.specs[run], record)
