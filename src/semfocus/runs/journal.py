"""An append-only log of a run: one JSON object a line, each with its own checksum."""

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from semfocus.durable import append_durably, read

Event = dict[str, Any]

#: JSON has no such byte
_UNWRITTEN = b"\0"


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
    """All events; an incomplete last line (a write that was cut) is left out.

    After a loss of power a line may have its end without its middle: sectors that were not written are zero.
    """
    if not path.exists():
        return []
    *lines, _cut = read(path).split(b"\n")
    if lines and _UNWRITTEN in lines[-1]:
        lines.pop()
    events = []
    for number, line in enumerate(lines, start=1):
        try:
            events.append(unseal(line.decode()))
        except ValueError as error:
            raise CorruptJournal(f"{path}, line {number}: {error}") from None
    return events


def append(path: Path, event: Event, check: Callable[[], None] | None = None) -> int:
    """Add one event and force it to disk; an incomplete last line is cut first. The size of the file then, if nobody
    else adds to it. What `check` raises prevents it.
    """

    def complete(descriptor: int, size: int) -> int:
        if check is not None:
            check()
        return _end_of_last_line(descriptor, size)

    return append_durably(path, seal(event).encode() + b"\n", complete)


def _end_of_last_line(descriptor: int, size: int) -> int:
    """The offset after the last line that was written whole."""
    end = _after_newline(descriptor, size)
    start = _after_newline(descriptor, max(0, end - 1))
    return start if _UNWRITTEN in os.pread(descriptor, end - start, start) else end


def _after_newline(descriptor: int, end: int) -> int:
    """The offset after the last newline before an offset, looking backwards in blocks."""
    block = 4096
    while end > 0:
        start = max(0, end - block)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
