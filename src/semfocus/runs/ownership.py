"""Which runs are being worked on, found out by reading alone: asking for the lock would disturb its owner."""

import os
import time
from pathlib import Path

from semfocus.runs.directory import RunDirectory

_LOCKS = Path("/proc/locks")
#: where the system does not list its locks, a journal this young counts as being written
_YOUNG = 120.0


def being_worked_on(directories: list[RunDirectory], locks: Path = _LOCKS) -> set[str]:
    """The names of the runs whose lock some process holds."""
    try:
        held = _held(locks.read_text(encoding="utf-8"))
    except OSError:
        return {each.name for each in directories if _age(each) < _YOUNG}
    return {each.name for each in directories if _is_held(each, held)}


def _held(text: str) -> dict[int, set[tuple[int, int]]]:
    """inode -> devices, of lines such as `3: FLOCK  ADVISORY  WRITE 512 fd:01:131081 0 EOF`."""
    found: dict[int, set[tuple[int, int]]] = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 6 and words[1] == "FLOCK":
            major, minor, inode = words[5].split(":")
            found.setdefault(int(inode), set()).add((int(major, 16), int(minor, 16)))
    return found


def _is_held(directory: RunDirectory, held: dict[int, set[tuple[int, int]]]) -> bool:
    try:
        lock = (directory.path / "lock").stat()
    except OSError:
        return False
    device = os.major(lock.st_dev), os.minor(lock.st_dev)
    # Some file systems (Btrfs, overlays) have a device number of their own (major 0) for each view of them.
    return any(each == device or 0 in (each[0], device[0]) for each in held.get(lock.st_ino, ()))


def _age(directory: RunDirectory) -> float:
    try:
        return time.time() - (directory.path / "journal.jsonl").stat().st_mtime
    except OSError:
        return float("inf")
