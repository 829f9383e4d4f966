"""Commands in processes of their own that are watched, stopped, looked at and killed from outside."""

import ctypes
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semfocus.execution.executors import pool

_NAMESPACES = (
    0x00020000 | 0x04000000 | 0x08000000 | 0x20000000 | 0x40000000
)  # mounts, name, IPC, numbers, network
_USERS = 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 4096, 16384, 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Victim:
    """A driver, which is a child of this process, with the workers it has."""

    #: our child, whose end is that of the command
    pid: int
    #: the file that has its output
    said: Path
    #: the driver: our child, or on another host a child of it
    driver: int
    code: int | None = None
    #: workers of it that were killed: after three attempts a run counts as failed
    lost_workers: int = 0
    since: float = field(default_factory=time.monotonic)

    def has_ended(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is not None

    def wait(self, seconds: float) -> bool:
        """Whether it ended within so many seconds."""
        patient_until = time.monotonic() + seconds
        while not self.has_ended() and time.monotonic() < patient_until:
            time.sleep(0.005)
        return self.has_ended()

    def workers(self) -> list[int]:
        return [] if self.has_ended() else descendants(self.driver)

    def end(self) -> None:
        """Whatever it is doing."""
        for pid in () if self.has_ended() else (*self.workers(), self.driver):
            kill(pid)
        self.wait(30)

    def words(self) -> str:
        return self.said.read_text(encoding="utf-8", errors="replace")


def descendants(pid: int) -> list[int]:
    """The processes that a process has started, and those that they have."""
    try:
        found = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return found + [each for child in found for each in descendants(child)]


def start_process(command: list[str], folder: Path, said: Path) -> Victim:
    """A program as anybody starts it."""
    with open(said, "wb") as file:
        process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )
    process.returncode = 0  # it is waited for here, not there
    return Victim(process.pid, said, process.pid)


def start_fork(command: Callable[[], int], folder: Path, said: Path) -> Victim:
    """A fork of this process, which has loaded everything; its workers are forks as well."""
    child = os.fork()
    if child == 0:
        _become(said)
        code = 99
        try:
            os.setsid()
            os.chdir(folder)
            pool.subprocess = ForkedWorkers  # type: ignore[assignment]
            code = command()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return Victim(child, said, child)


def start_host(command: Callable[[], int], shared: Path, mounted: str, said: Path) -> Victim:
    """The same on a host of its own: other mounts, process numbers, network and name. Killed, all of it ends.

    `shared`: a folder that several hosts have, each at the place `mounted` of its own.
    """
    ready, tell = os.pipe()
    parent = os.fork()
    if parent == 0:  # only children of whoever leaves its namespace are numbered anew
        code = 98
        try:
            enter_namespaces()
            first = os.fork()
            if first == 0:
                os.closerange(ready, tell + 1)
                mount_shared(shared, mounted)
                os._exit(_as_first(command, mounted, said))
            os.write(tell, str(first).encode())
            os.close(tell)
            _, status = os.waitpid(first, 0)
            code = os.waitstatus_to_exitcode(status)
            if code < 0:
                os.kill(os.getpid(), -code)
        finally:
            os._exit(code)
    os.close(tell)
    with open(ready, "rb") as pipe:
        first = int(pipe.read() or parent)
    return Victim(parent, said, first)


def _as_first(command: Callable[[], int], mounted: str, said: Path) -> int:
    _become(said)
    try:
        os.chdir(mounted)
        pool.subprocess = ForkedWorkers  # type: ignore[assignment]
        return command()
    except BaseException:
        traceback.print_exc()
        return 99


def _become(said: Path) -> None:
    with open(said, "wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115


def _called(found: int) -> None:
    if found != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def enter_namespaces() -> None:
    """Leave the host, for the children from now on; whoever is not root becomes one that is root there alone."""
    user, group = os.geteuid(), os.getegid()
    _called(_libc.unshare(_NAMESPACES | (0 if user == 0 else _USERS)))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _called(_libc.mount(b"none", b"/", None, _MS_REC | _MS_PRIVATE, None))


def mount_shared(shared: Path, mounted: str) -> None:
    Path(mounted).mkdir(exist_ok=True)
    _called(_libc.mount(os.fsencode(shared), os.fsencode(mounted), None, _MS_BIND, None))
    _called(_libc.mount(b"proc", b"/proc", b"proc", 0, None))


def hosts_are_possible() -> str | None:
    """Why this process may not make hosts; None if it may."""
    child = os.fork()
    if child == 0:
        try:
            enter_namespaces()
        except OSError as error:
            os._exit(error.errno or 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return None if code == 0 else f"namespaces: {os.strerror(code)}"


class ForkedWorkers:
    """Stands for `subprocess` in the pool: workers are forks of the driver, which has loaded everything."""

    PIPE = subprocess.PIPE
    TimeoutExpired = subprocess.TimeoutExpired

    class Popen:
        def __init__(self, command: list[str], **options: Any) -> None:
            assert command[1:4] == ["-P", "-m", "semfocus.execution.worker"]
            pipes = [os.pipe() for _ in range(3)]
            ends = [pipes[0][0], pipes[1][1], pipes[2][1]]
            self.pid = os.fork()
            if self.pid == 0:
                self._work(command, ends)
            for end in ends:
                os.close(end)
            self.stdin = open(pipes[0][1], "wb", buffering=0)  # noqa: SIM115
            self.stdout = open(pipes[1][0], "rb", buffering=0)  # noqa: SIM115
            self.stderr = open(pipes[2][0], "rb", buffering=0)  # noqa: SIM115
            self.returncode: int | None = None

        @staticmethod
        def _work(command: list[str], ends: list[int]) -> None:
            from semfocus.execution import worker

            try:
                os.setsid()
                for number, end in enumerate(ends):
                    os.dup2(end, number)
                os.closerange(3, 4096)
                sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
                sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
                sys.argv = command[3:]
                worker.main()
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(1)

        def poll(self) -> int | None:
            if self.returncode is None:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
            return self.returncode

        def wait(self, timeout: float | None = None) -> int:
            patient_until = time.monotonic() + (timeout if timeout is not None else 1e9)
            while self.poll() is None:
                if time.monotonic() > patient_until:
                    raise subprocess.TimeoutExpired("worker", timeout or 0)
                time.sleep(0.002)
            assert self.returncode is not None
            return self.returncode

        def send_signal(self, number: int) -> None:
            if self.poll() is None:
                os.kill(self.pid, number)

        def kill(self) -> None:
            self.send_signal(signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def is_saving(pid: int) -> bool:
    """Whether a process is between the first and the last operation of a save.

    That is: it has a temporary file or a journal open for writing, or it owns a run (has its lock open) in which
    a checkpoint is half written. The forcing of a directory after the last rename is not counted.
    """
    owned = []
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for number in numbers:
        with suppress(OSError):
            path = os.readlink(f"/proc/{pid}/fd/{number}")
            if ".partial" in path:
                return True
            if path.endswith("/journal.jsonl") and _may_write(pid, number):
                return True
            if path.endswith("/lock"):
                owned.append(Path(f"/proc/{pid}/root{path}").parent / "checkpoints")  # as its host has it
    return any(any(each.glob(".*.partial")) for each in owned)


def _may_write(pid: int, number: str) -> bool:
    words = Path(f"/proc/{pid}/fdinfo/{number}").read_text().split()
    return bool(int(words[words.index("flags:") + 1], 8) & (os.O_WRONLY | os.O_RDWR))


def kill(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def stop(pid: int) -> None:
    """Until nothing moves in it any more; an operation that has begun is ended first."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
    patient_until = time.monotonic() + 5
    while time.monotonic() < patient_until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state in "TtZX":
            return
        time.sleep(0.0002)


def go_on(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
