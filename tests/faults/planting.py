"""Faults planted at numbered operations on files, in child processes forked from a warm parent."""

import errno
import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from semfocus.durable import intercept

Mode = Literal["killed before", "killed after", "EIO", "ENOSPC", "short write"]
MODES: tuple[Mode, ...] = ("killed before", "killed after", "EIO", "ENOSPC", "short write")
#: what can fail for want of space
_TAKES_SPACE = ("open", "write", "mkdir", "rename", "fsync", "fsync of a directory")


def possible(kind: str, mode: Mode) -> bool:
    """Whether an operation of this kind can fail in this mode."""
    if mode == "short write":
        return kind == "write"
    if mode == "ENOSPC":
        return kind in _TAKES_SPACE
    return True


@dataclass
class Counter:
    """Numbers the operations and notes their kinds."""

    root: Path
    #: where they are written when the command has ended: outside of the folder
    place: Path

    def __post_init__(self) -> None:
        self.points: list[tuple[str, str]] = []

    def close(self) -> None:
        self.place.write_text(json.dumps(self.points), encoding="utf-8")

    def __call__(self, kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        self.points.append((kind, _place(path, self.root)))
        return make(*arguments)


@dataclass
class Fault:
    """Fails at the operation of one number, once."""

    number: int
    mode: Mode

    def __post_init__(self) -> None:
        self.at = 0

    def __call__(self, kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        here, self.at = self.at == self.number, self.at + 1
        if not here:
            return make(*arguments)
        if self.mode == "killed before":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.mode == "killed after":
            with suppress(OSError):  # as for a file that is not there
                make(*arguments)
            os.kill(os.getpid(), signal.SIGKILL)
        if kind == "write":  # a disk that fails has often taken a part
            descriptor, content = arguments
            half = len(content) // 2
            if self.mode == "short write":
                return make(descriptor, content[: max(1, half)])
            if half:
                make(descriptor, content[:half])
        number = errno.EIO if self.mode == "EIO" else errno.ENOSPC
        raise OSError(number, os.strerror(number), str(path))


def _place(path: Path, root: Path) -> str:
    """Without what differs from one time to the next: numbers of processes, what was drawn."""
    path = Path(os.path.abspath(path))
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return ".".join(name.split(".")[:-2]) + ".*.partial" if name.endswith(".partial") else name


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code (negative: the signal), and what it said."""

    code: int
    said: str


def in_child(command: Callable[[], int], interceptor: Any = None) -> Outcome:
    """Run a command in a fork of this process, in the present directory, with its output in a pipe."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.close(reading)
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)
            sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False), write_through=True)
            if interceptor is None:
                code = command()
            else:
                with intercept(interceptor):
                    code = command()
                if hasattr(interceptor, "close"):
                    interceptor.close()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writing)
    with open(reading, "rb") as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return Outcome(os.waitstatus_to_exitcode(status), said.decode(errors="replace"))
