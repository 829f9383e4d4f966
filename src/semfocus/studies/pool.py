"""Jobs in a pool of worker processes, each of which does many jobs: loading torch takes seconds."""

import selectors
import time
from contextlib import suppress

from semfocus.studies.executor import Hear
from semfocus.studies.kinds import AnyJob
from semfocus.studies.worker_process import WorkerProcess

#: seconds that workers get to save their runs when a study is stopped
PATIENCE = 60.0


class Pool:
    """Processes are started when there is a job for them, and replaced when they end."""

    def __init__(self, size: int, threads: int, hear: Hear) -> None:
        self.size = size
        self.threads = threads
        self.hear = hear
        self.workers: list[WorkerProcess] = []
        self.selector = selectors.DefaultSelector()

    def free(self) -> int:
        return self.size - sum(worker.job is not None for worker in self.workers)

    def start(self, job: AnyJob) -> None:
        idle = [worker for worker in self.workers if worker.job is None and worker.process.poll() is None]
        worker = idle[0] if idle else self._hire()
        worker.give(job)

    def _hire(self) -> WorkerProcess:
        worker = WorkerProcess(self.threads)
        self.workers.append(worker)
        for stream in (worker.stdout, worker.stderr):
            self.selector.register(stream, selectors.EVENT_READ, worker)
        return worker

    def wait(self, seconds: float) -> None:
        for key, _ in self.selector.select(max(seconds, 0)):
            worker: WorkerProcess = key.data
            if worker not in self.workers:  # dismissed a moment ago
                continue
            try:
                if key.fileobj is worker.stderr:
                    worker.pass_on_words()
                else:
                    self._listen(worker)
            except EOFError:
                self.selector.unregister(key.fileobj)
                if key.fileobj is worker.stdout:
                    self._dismiss(worker)

    def _listen(self, worker: WorkerProcess) -> None:
        for message in worker.messages():
            assert worker.job is not None
            run = worker.job.run
            if message["event"] in ("ended", "busy", "failed"):
                worker.job = None
            self.hear(run, message)

    def _dismiss(self, worker: WorkerProcess) -> None:
        """A worker has ended: on request, or because something ended it."""
        self.workers.remove(worker)
        with suppress(KeyError):
            self.selector.unregister(worker.stderr)
        how = worker.end()
        if not worker.ready and (worker.process.returncode or 0) > 0:
            raise ChildProcessError(f"worker processes cannot start: {how}")
        if worker.job is not None:
            self.hear(worker.job.run, {"event": "failed", "kind": "killed", "reason": how, "again": True})

    def stop(self) -> None:
        for worker in self.workers:
            worker.interrupt()
        patient_until = time.monotonic() + PATIENCE
        while self.workers and time.monotonic() < patient_until:
            self.wait(0.5)

    def close(self) -> None:
        for worker in self.workers:
            if worker.job is not None:
                worker.process.kill()
            worker.stdin.close()  # one without a job ends by itself
        for worker in self.workers:
            worker.end()
        self.workers.clear()
        self.selector.close()
