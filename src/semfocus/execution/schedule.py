"""What comes next: what is known is read, what failed is tried again, what another process has is waited for."""

import errno
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from semfocus.execution.executor import Executor, Hear
from semfocus.execution.jobs import Job, Message
from semfocus.execution.progress import Watcher, Work
from semfocus.runs import RunBusy

#: what another process has is looked at again after these seconds, then after twice as many, up to the last
_FIRST_LOOK, _LAST_LOOK = 0.25, 2.0
#: errors that everything would meet: the work stops and says so, instead of failing one by one
_CONCERNS_ALL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)


class Item(Protocol):
    """One thing to be done: a run to be trained, a part to be measured, an arm of a trial."""

    @property
    def name(self) -> str: ...
    @property
    def work(self) -> Work: ...
    @property
    def place(self) -> str:
        """Where it is kept, for an error about the disk."""
        ...

    def known(self) -> Any | None:
        """The result, if it is there."""
        ...

    def job(self) -> Job:
        """What a worker is told; RunBusy while another process has it."""
        ...

    def finished(self, message: Message) -> Any:
        """The result, from the message that the job has ended."""
        ...

    def attempt_failed(self, message: Message) -> None:
        """Keep what went wrong."""
        ...

    def failed(self, message: Message) -> Any:
        """The result of something that failed too often."""
        ...


class Schedule:
    """The state of one invocation; everything that must survive it is on disk."""

    def __init__(self, items: Sequence[Item], attempts: int, watchers: Sequence[Watcher]) -> None:
        self.items = {item.name: item for item in items}
        assert len(self.items) == len(items), "every item has a name of its own"
        self.attempts = attempts
        self.watchers = watchers
        self.results: dict[str, Any] = {}
        self.waiting = deque(self.items)
        self.tries: Counter[str] = Counter()
        self.look_after: dict[str, float] = {}  # seconds to wait for what another process has
        self.not_before: dict[str, float] = {}
        self.stopping = False

    def run(self, make: Callable[[Hear], Executor]) -> None:
        """Until everything has a result. Ctrl-C and errors that concern all save the others' state first."""
        self._read_known()
        if not self.waiting:
            return
        executor = make(self.hear)
        try:
            while len(self.results) < len(self.items):
                self._give_out(executor)
                executor.wait(self._patience())
        except BaseException:
            self.stopping = True
            executor.stop()
            raise
        finally:
            executor.close()

    def _read_known(self) -> None:
        for name in list(self.waiting):
            if self._end_if_known(name):
                self.waiting.remove(name)

    def _end_if_known(self, name: str) -> bool:
        known = self.items[name].known()
        if known is not None:
            self._end(name, known)
        return known is not None

    def _give_out(self, executor: Executor) -> None:
        for _ in range(len(self.waiting)):
            if not executor.free():
                return
            name = self.waiting.popleft()
            if self.not_before.get(name, 0.0) > time.monotonic():
                self.waiting.append(name)
            elif not self._end_if_known(name):
                self.tries[name] += 1
                try:
                    job = self.items[name].job()
                except RunBusy:
                    self._put_back(name)
                else:
                    executor.start(job)

    def _patience(self) -> float:
        """Seconds until something that another process has should be looked at; at most one, at least a moment."""
        now = time.monotonic()
        return min([1.0, *(max(0.01, self.not_before.get(name, now + 1) - now) for name in self.waiting)])

    def hear(self, name: str, message: Message) -> None:
        """What an executor reports."""
        if self.stopping:
            return
        work, event = self.items[name].work, message["event"]
        if event == "started":
            for watcher in self.watchers:
                watcher.run_started(work, self.tries[name])
        elif event in ("epoch", "point"):
            for watcher in self.watchers:
                watcher.epoch_ended(work, message.get("row") or {})
        elif event == "ended":
            self._end(name, self.items[name].finished(message))
        elif event == "busy":
            self._put_back(name)
        else:
            self._failed(name, message)

    def _put_back(self, name: str) -> None:
        """Another process has it: later it has ended, or is free again."""
        self.tries[name] -= 1
        delay = self.look_after.get(name, _FIRST_LOOK)
        self.look_after[name] = min(2 * delay, _LAST_LOOK)
        self.not_before[name] = time.monotonic() + delay
        self.waiting.append(name)

    def _failed(self, name: str, message: Message) -> None:
        item = self.items[name]
        if message.get("errno") in _CONCERNS_ALL:
            number = message["errno"]
            raise OSError(number, os.strerror(number), message.get("file") or item.place)
        if self._end_if_known(name):  # the worker was ended between writing the result and saying so
            return
        item.attempt_failed(message)
        for watcher in self.watchers:
            watcher.run_failed(item.work, self.tries[name], message["reason"])
        if message["again"] and self.tries[name] < self.attempts:
            self.waiting.append(name)
        else:
            self._end(name, item.failed(message))

    def _end(self, name: str, result: Any) -> None:
        self.results[name] = result
        for watcher in self.watchers:
            watcher.run_ended(self.items[name].work, result)
