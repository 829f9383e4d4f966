"""The directory of one run: its files, who owns it, and what its journal says so far."""

import fcntl
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

from semfocus.durable import (
    lock,
    locked_file,
    make_directory,
    read,
    remove_partials,
    remove_tree,
    sync_directory,
    unlink,
    write_durably,
)
from semfocus.runs.journal import Event, append, read_journal
from semfocus.runs.shape import KEPT_FILES, are_rows, kept_file, problem_of_record

_OTHER_FILES = {"spec.json", "env.json", "record.json"}
#: the traceback of the last attempt, if it failed
FAILURE = "failure.txt"
#: no journal is so long: it stays lost
_LOST = -1


class RunBusy(Exception):
    """Another process is working on this run."""


class DamagedRun(Exception):
    """A file of the run is not what was written."""


@contextmanager
def holding(place: Path, busy: str, patience: float = 0.0) -> Iterator[None]:
    """Hold a lock file while the block runs; if another process does so for longer than `patience`, RunBusy
    says `busy`.
    """
    patient_until = time.monotonic() + patience
    with locked_file(place) as file:
        while True:
            try:
                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= patient_until:
                    raise RunBusy(busy) from None
                time.sleep(0.02)
        yield


class RunDirectory:
    """spec.json, env.json, journal.jsonl, checkpoints/, record.json, failure.txt and a file per measurement:
    written here and nowhere else.

    A lock may be lost, unnoticed: by a host of a network file system that was asleep for long, and where each host
    has locks of its own. So the owner knows how long it left the journal, to which whoever goes on with the run adds.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self.landscapes = (
            path / "landscapes"
        )  # each in a directory of its own: see measurements/landscape/place.py
        self._journal = path / "journal.jsonl"
        self._left_at: int | None = None  # bytes of the journal; None for who does not own the run

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def exists(self) -> bool:
        return (self.path / "spec.json").exists()

    @property
    def has_ended(self) -> bool:
        """Whether there is a record, even a damaged one: that is for a person to decide about."""
        return (self.path / "record.json").exists()

    def create(self, spec: dict[str, Any]) -> None:
        """Make the directory; doing it again changes nothing."""
        make_directory(self.checkpoints)
        if not self.exists:
            sync_directory(self.path.parent)  # a process that was killed may have made the directory
            self._write_json("spec.json", spec)

    @contextmanager
    def owned(self, patience: float = 0.0) -> Iterator[None]:
        """Hold the run while the block runs; the system lets go of it even if the process is killed.

        `patience`: seconds to wait for an owner who is expected to let go soon.
        """
        busy = f"run {self.name} is being worked on by another process"
        with holding(self.path / "lock", busy, patience):
            self._left_at = self._journal_size()
            try:
                yield
            finally:
                self._left_at = None

    def _journal_size(self) -> int:
        return self._journal.stat().st_size if self._journal.exists() else 0

    def check_owner(self) -> None:
        """RunBusy if the owner has lost the run: then it must not write any more."""
        if self._left_at is not None and self._left_at != self._journal_size():
            self._left_at = _LOST
            raise RunBusy(f"run {self.name} was continued, or removed, by another process")

    def remove_leftovers(self) -> None:
        """Remove what a killed owner was in the middle of writing; only for the present owner."""
        remove_partials(self.path)
        for path in self.checkpoints.glob(".*.partial"):
            with suppress(OSError):
                remove_tree(path)

    def spec(self) -> dict[str, Any]:
        return self._read_json("spec.json")

    def environment(self) -> dict[str, Any]:
        return self._read_json("env.json")

    def write_environment(self, environment: dict[str, Any]) -> None:
        self._write_json("env.json", environment)

    def note(self, event: str, /, **details: Any) -> None:
        """Append one event to the journal."""
        self._write_journal(lambda: append(self._journal, {"event": event, **details}, self.check_owner))

    def replace_journal(self, content: bytes) -> None:
        """By the one that another machine has continued for us."""

        def write() -> int:
            write_durably(self._journal, content, self.check_owner)
            return len(content)

        self._write_journal(write)

    def _write_journal(self, write: Callable[[], int]) -> None:
        """`write` returns the size that it leaves."""
        size = None
        try:
            size = write()
        finally:
            if self._left_at not in (None, _LOST):
                self._left_at = self._journal_size() if size is None else size  # half a line, perhaps

    def events(self) -> list[Event]:
        return read_journal(self._journal)

    def record(self) -> dict[str, Any] | None:
        """The final record, if the run has ended."""
        if not self.has_ended:
            return None
        record = self._read_json("record.json")
        problem = problem_of_record(record)
        if problem is not None:
            raise DamagedRun(f"{self.path / 'record.json'} is damaged: {problem}")
        return record

    def write_record(self, record: dict[str, Any]) -> None:
        unlink(self.path / FAILURE)  # what went wrong before is in the journal
        self._write_json("record.json", record)

    def write_failure(self, traceback: str) -> None:
        """Keep where the last attempt went wrong."""
        write_durably(self.path / FAILURE, traceback.encode("utf-8", "backslashreplace"))

    def kept(self, measurement: str) -> list[dict[str, Any]]:
        """The rows that a measurement left here; none if it was never made."""
        file, key = kept_file(measurement)
        if not (self.path / file).exists():
            return []
        rows: Any = self._read_json(file).get(key)
        if not are_rows(measurement, rows):
            raise DamagedRun(f"{self.path / file} is damaged: not rows of the measurement {measurement!r}")
        return list(rows)

    def keep(self, measurement: str, rows: list[dict[str, Any]]) -> None:
        """Store the rows of a measurement in place of those that were here; only for the present owner."""
        file, key = kept_file(measurement)
        self._write_json(file, {key: rows})

    def kept_names(self) -> list[str]:
        """The measurements that left rows here."""
        others = {path.name for path in self.path.glob("*.json")} - _OTHER_FILES
        names = {kept_file(name)[0]: name for name in KEPT_FILES}
        return sorted(names.get(file, file.removesuffix(".json")) for file in others)

    def files(self) -> list[Path]:
        """All that another machine needs to measure in this run."""
        inside = [path for path in self.checkpoints.rglob("*") if path.is_file()]
        beside = [path for path in self.path.iterdir() if path.is_file() and path.name != "lock"]
        return [path for path in (*beside, *inside) if ".partial" not in str(path)]

    def _read_json(self, name: str) -> dict[str, Any]:
        try:
            values = json.loads(read(self.path / name), parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            raise DamagedRun(f"{self.path / name} is damaged: {error}") from None
        if not isinstance(values, dict):
            raise DamagedRun(f"{self.path / name} is damaged: not a JSON object")
        return values

    def _write_json(self, name: str, values: dict[str, Any]) -> None:
        text = json.dumps(values, indent=1, sort_keys=True, allow_nan=False) + "\n"
        write_durably(self.path / name, text.encode(), self.check_owner)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def epoch_rows(events: list[Event]) -> list[dict[str, Any]]:
    """The epochs that count: an attempt that resumed after epoch e replaces what earlier ones said of later epochs."""
    return [
        {key: value for key, value in event.items() if key not in ("event", "steps")}
        for event in _that_count(events, "epoch")
    ]


def steps_of(events: list[Event]) -> dict[str, dict[str, list[Any]]]:
    """`steps` of a record, the training accuracy after every so many steps; nothing for a run that was not
    asked for it.
    """
    rows = [row for event in _that_count(events, "epoch") for row in event.get("steps", ())]
    columns = {name: [row[name] for row in rows] for name in ("step", "train_accuracy")}
    return {"steps": columns} if rows else {}


def probe_rows_of(events: list[Event]) -> list[dict[str, Any]]:
    """What was measured along training, by the same rule; of an epoch measured twice, the later rows."""
    return [
        {**row, "epoch": event["epoch"]} for event in _that_count(events, "probe") for row in event["rows"]
    ]


def _that_count(events: list[Event], kind: str) -> list[Event]:
    """In the order of epochs, each once: an owner who lost the run may have added a line at that very moment."""
    found: dict[int, Event] = {}
    for event in events:
        if event["event"] == "attempt":
            found = {epoch: each for epoch, each in found.items() if epoch <= event["resumed_after"]}
        elif event["event"] == kind:
            found[event["epoch"]] = event
    return [found[epoch] for epoch in sorted(found)]
