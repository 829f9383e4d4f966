"""The driver's side of one worker process: its pipes, its job, and how it ended."""

import json
import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import semfocus
from semfocus.mechanisms.kernels.library import compiled_library
from semfocus.studies.job import Message
from semfocus.studies.kinds import AnyJob, as_line

#: libraries read these when they are loaded
_THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class WorkerProcess:
    """`python -m semfocus.studies.worker` in a session of its own: the terminal's Ctrl-C is for the driver alone."""

    def __init__(self, threads: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "semfocus.studies.worker", str(os.getpid())],
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
        self.job: AnyJob | None = None
        self._half = {self.stdout.fileno(): b"", self.stderr.fileno(): b""}
        self._last_words: deque[str] = deque(maxlen=1)

    def give(self, job: AnyJob) -> None:
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
