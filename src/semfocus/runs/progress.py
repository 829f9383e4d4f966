"""How far the runs of a store are, from their files alone."""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from typing import Any

from semfocus.runs.directory import DamagedRun, RunDirectory
from semfocus.runs.plan import Plan, read_plans
from semfocus.runs.record import Record, read_record
from semfocus.runs.store import Store

#: in the order in which people ask; `unfinished` is a run whose process ended without a word
STATES = ("done", "running", "failed", "diverged", "interrupted", "unfinished", "corrupt", "planned")
ENDED = ("done", "diverged", "corrupt")
_LOCKS = Path("/proc/locks")
#: where the system does not list its locks, a journal this young counts as being written
_YOUNG = 120.0


@dataclass(frozen=True)
class RunProgress:
    """One run; `seconds_left` and others are None where nothing is known yet."""

    run: str
    state: str
    reason: str | None = None
    label: str = ""
    epoch: int | None = None
    epochs: int | None = None
    train_accuracy: float | None = None
    seconds_each: float | None = None
    spec: dict[str, Any] = field(default_factory=dict)
    #: files of measurements that cannot be read, each with the reason
    damaged: list[str] = field(default_factory=list)

    @property
    def seconds_left(self) -> float | None:
        if self.state in ENDED:
            return 0.0
        if self.seconds_each is None or self.epochs is None:
            return None
        return self.seconds_each * (self.epochs - (self.epoch or 0))


@dataclass(frozen=True)
class StudyProgress:
    """The runs of one plan, or those that no plan names."""

    name: str
    question: str
    command: str
    runs: list[RunProgress] = field(default_factory=list)

    def count(self, state: str) -> int:
        return sum(run.state == state for run in self.runs)

    def seconds_left(self) -> float | None:
        """With as many runs at a time as are running now; a run without epochs counts as an average one."""
        whole = [run.seconds_each * run.epochs for run in self.runs if run.seconds_each and run.epochs]
        left = [run.seconds_left for run in self.runs]
        if None in left and not whole:
            return None
        total = sum(mean(whole) if each is None else each for each in left)
        return total / max(1, self.count("running"))


def progress_of(record: Record, running: bool = False) -> RunProgress:
    """What a record, finished or not, says about progress."""
    spec: dict[str, Any] = record["spec"]
    curve = record.get("curve") or {}
    seconds = [
        sum(pair)
        for pair in zip(curve.get("train_seconds", ()), curve.get("evaluation_seconds", ()), strict=True)
    ]
    state = "running" if running and record["state"] not in ENDED else record["state"]
    return RunProgress(
        run=record["run"],
        state=state,
        reason=None if state == "running" else record.get("reason"),
        label=f"{spec['task']} {spec['pattern']} seed {spec['seed']}" if spec else "",
        epoch=curve["epoch"][-1] if curve else None,
        epochs=spec["training"]["epochs"] if spec else None,
        train_accuracy=curve["train_accuracy"][-1] if curve else None,
        seconds_each=median(seconds[1:] or seconds) if seconds else None,
        spec=spec,
        damaged=_damaged(record.directory),
    )


def _damaged(directory: RunDirectory | None) -> list[str]:
    """A report leaves these measurements out without a word."""
    found: list[str] = []
    if directory is None:
        return found
    for name in directory.kept_names():
        try:
            directory.kept(name)
        except (DamagedRun, OSError) as error:
            found.append(str(error))
    return found


class StoreProgress:
    """Looks at a store as often as asked; runs that have ended are read once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.ended: dict[str, RunProgress] = {}

    def studies(self) -> list[StudyProgress]:
        """One for each plan, and one for the runs that no plan names."""
        found = self._runs()
        plans = read_plans(self.store)
        planned = {run for plan in plans for run in plan.runs}
        studies = [_study(plan, found) for plan in plans]
        others = [run for name, run in found.items() if name not in planned]
        return [*studies, StudyProgress("", "", "", others)] if others else studies

    def _runs(self) -> dict[str, RunProgress]:
        directories = self.store.directories()
        running = being_worked_on([each for each in directories if each.name not in self.ended])
        return {each.name: self._progress(each, each.name in running) for each in directories}

    def _progress(self, directory: RunDirectory, running: bool) -> RunProgress:
        known = self.ended.get(directory.name)
        if known is None:
            known = progress_of(read_record(directory), running)
            if known.state in ("done", "diverged"):
                self.ended[directory.name] = known
        return known


def _study(plan: Plan, found: dict[str, RunProgress]) -> StudyProgress:
    runs: Iterable[str] = dict.fromkeys(plan.runs)
    return StudyProgress(
        plan.name, plan.question, plan.command, [found.get(run, RunProgress(run, "planned")) for run in runs]
    )


def being_worked_on(directories: list[RunDirectory], locks: Path = _LOCKS) -> set[str]:
    """The names of the runs whose lock some process holds; read, since asking for a lock would disturb its owner."""
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
