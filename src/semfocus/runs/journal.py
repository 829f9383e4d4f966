"""An append-only log of a run: one JSON object a line, each with its own checksum."""

import json
import os
import zlib
from pathlib import Path
from typing import Any

Event = dict[str, Any]


class CorruptJournal(Exception):
    """A complete line does not say what was written: the file was damaged, not merely cut short."""


def seal(event: Event) -> str:
    """The event as JSON with its checksum under `crc`."""
    return _dump({**event, "crc": _checksum(event)})


def unseal(line: str) -> Event:
    """The event of a sealed line; ValueError if the checksum does not fit."""
    event = json.loads(line)
    if not isinstance(event, dict) or event.pop("crc", None) != _checksum(event):
        raise ValueError("the checksum does not fit")
    return event


def _dump(event: Event) -> str:
    return json.dumps(event, sort_keys=True, allow_nan=False)


def _checksum(event: Event) -> str:
    return f"{zlib.crc32(_dump(event).encode()):08x}"


def read_journal(path: Path) -> list[Event]:
    """All events; an incomplete last line (a write that was cut) is left out."""
    if not path.exists():
        return []
    *lines, _cut = path.read_bytes().split(b"\n")
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(unseal(line.decode()))
        except ValueError as error:
            raise CorruptJournal(f"{path}, line {number}: {error}") from None
    return events


def append(path: Path, event: Event) -> None:
    """Add one event and force it to disk; an incomplete last line is cut first."""
    with open(path, "ab+") as file:
        end = file.seek(0, os.SEEK_END)
        complete = _end_of_last_line(file.fileno(), end)
        if complete < end:
            file.truncate(complete)
        file.write(seal(event).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _end_of_last_line(descriptor: int, end: int) -> int:
    """The offset after the last newline, looking backwards in blocks."""
    block = 4096
    while end > 0:
        start = max(0, end - block)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
