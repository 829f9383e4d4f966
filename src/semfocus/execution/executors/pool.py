"""Jobs in a pool of worker processes, each of which does many jobs: loading torch takes seconds."""

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import semfocus
from semfocus.execution.executor import Hear
from semfocus.execution.jobs import Job, Message, as_line
from semfocus.kernels.cpu.library import compiled_library

#: libraries read these when they are loaded
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class WorkerProcess:
    """`python -m semfocus.execution.worker` in a session of its own: the terminal's Ctrl-C is for the driver alone."""

    def __init__(self, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "semfocus.execution.worker", str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            env=_environment(threads),
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.stdin, self.stdout, self.stderr = self.process.stdin, self.process.stdout, self.process.stderr
        os.set_blocking(self.stdout.fileno(), False)
        os.set_blocking(self.stderr.fileno(), False)
        self.ready = False
        self.job: Job | None = None
        self._half = {self.stdout.fileno(): b"", self.stderr.fileno(): b""}
        self._last_words: deque[str] = deque(maxlen=1)

    def give(self, job: Job) -> None:
        """Send a job; if the process has ended, that shows when its pipes are read."""
        self.job = job
        with suppress(BrokenPipeError):
            self.stdin.write(as_line(job).encode() + b"\n")

    def messages(self) -> Iterator[Message]:
        """What it has answered since; EOFError once it has closed its end."""
        for line in self._lines(self.stdout.fileno()):
            message = json.loads(line)
            if message["event"] == "ready":
                self.ready = True
            else:
                yield message

    def pass_on_words(self) -> None:
        """What it printed goes to our standard error, line by line; EOFError as above."""
        for line in self._lines(self.stderr.fileno()):
            text = line.decode(errors="replace")
            if text.strip():
                self._last_words.append(text.strip())
            sys.stderr.write(text + "\n")

    def _lines(self, descriptor: int) -> Iterator[bytes]:
        try:
            data = os.read(descriptor, 2**16)
        except BlockingIOError:
            return
        if not data:
            raise EOFError
        *lines, self._half[descriptor] = (self._half[descriptor] + data).split(b"\n")
        yield from lines

    def interrupt(self) -> None:
        """Ask it to save its run and end; one that has not begun has nothing to save."""
        self.process.send_signal(signal.SIGINT if self.ready else signal.SIGKILL)

    def end(self) -> str:
        """Wait for the end, by force if need be; how it ended, in words."""
        try:
            code = self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        with suppress(EOFError):
            for _ in range(16):
                self.pass_on_words()
        for stream in (self.stdin, self.stdout, self.stderr):
            with suppress(OSError):
                stream.close()
        said = f": {self._last_words[-1]}" if self._last_words and code != -signal.SIGKILL else ""
        return (f"worker ended by signal {-code}" if code < 0 else f"worker ended with code {code}") + said


def _environment(threads: int) -> dict[str, str]:
    """Ours, with one number of threads, and modules found where we find them."""
    paths = [str(Path(semfocus.__file__).parents[1]), *(path or os.getcwd() for path in sys.path)]
    return {
        **os.environ,
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        **_kernel_variables(),
        "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths)),
    }


def _kernel_variables() -> dict[str, str]:
    """Where there are no kernels, this process warns of it, once; its workers are told to do without."""
    try:
        library = compiled_library()
    except (ImportError, OSError, ValueError):  # the runs will fail with the reason
        return {}
    return {"SEMFOCUS_KERNELS": "none"} if library is None else {}


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

    def start(self, job: Job) -> None:
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
