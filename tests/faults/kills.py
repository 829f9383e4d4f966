"""Studies that are killed again and again, from outside and mostly while they save; then the same command ends them.

A story is one study in one store. Its commands are killed until it was hurt often enough, or has ended; then it is
compared with a study that nobody disturbed. To know where a kill fell, most of the processes that will die are stopped
first, and looked at through /proc: see `is_saving`. Of the others, which are killed as they run, nothing is claimed.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.faults.kept import FOLDER, Effort, Kept, Part, Row
from tests.faults.planting import in_child
from tests.faults.scenarios import inside, left_in, study
from tests.faults.victims import (
    Victim,
    hosts_are_possible,
    is_alive,
    is_saving,
    kill,
    start_fork,
    start_host,
    start_process,
    stop,
)
from tests.portable import ROOT

RECIPE = """
from semfocus.measurements import Lengths
from semfocus.studies import grid

MEASURE = [Lengths((4, 6), num=8)]


def specs():
    base = {
        "task": "even_pairs",
        "model": {"d_model": 4, "d_mlp": 4, "num_blocks": 1},
        "training": {"length": 4, "num_train": 8, "num_held_out": 8, "epochs": 4, "batch_size": 4},
    }
    return grid(base, pattern=["full", "top_k(2)"], seed=[0, 1, 2])
"""
#: a command that does nothing for so many seconds hangs
PATIENCE = 300.0
PROGRAM = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.faults.scenarios import study
sys.exit(study(*sys.argv[1:]))
"""
POOL = ("--executor", "pool", "--workers", "2")


@dataclass(frozen=True)
class Kind:
    """How the commands of a story are started: (folder, which of them, where its output goes)."""

    name: str
    start: Callable[[Path, int, Path], Victim]
    #: what is killed, with weights
    targets: dict[str, int]
    #: at once, on one store
    commands: int = 1
    #: kills of a story, at most
    most: int = 10
    #: seconds in which something happens
    span: float = 1.0
    impossible: Callable[[], str | None] = lambda: None


def _forked(*how: str) -> Callable[[Path, int, Path], Victim]:
    return lambda folder, _, said: start_fork(partial(study, *how), folder, said)


def _process(*how: str) -> Callable[[Path, int, Path], Victim]:
    return lambda folder, _, said: start_process([sys.executable, "-c", PROGRAM, *how], folder, said)


def _host(*how: str) -> Callable[[Path, int, Path], Victim]:
    def start(folder: Path, number: int, said: Path) -> Victim:
        mounted = folder.parent / f"host-{number}"
        return start_host(partial(study, *how), folder, str(mounted), said)

    return start


SERIAL = ("--executor", "serial")
OF_A_POOL = {"driver": 2, "worker": 3, "both": 1}
KINDS = {
    kind.name: kind
    for kind in (
        Kind("serial", _forked(*SERIAL), {"driver": 1}),
        Kind("pool", _forked(*POOL), OF_A_POOL),
        Kind("two drivers", _forked(*POOL), OF_A_POOL, commands=2),
        Kind("serial process", _process(*SERIAL), {"driver": 1}, most=5, span=5.0),
        Kind("pool processes", _process(*POOL), OF_A_POOL, most=5, span=8.0),
        Kind("two hosts", _host(*POOL), {"host": 2, "worker": 1}, commands=2, impossible=hosts_are_possible),
    )
}
#: stories of a sample, and of hours
STORIES = {
    "serial": (4, 30),
    "pool": (4, 40),
    "two drivers": (2, 20),
    "serial process": (1, 20),
    "pool processes": (1, 24),
    "two hosts": (2, 20),
}


@dataclass
class Story:
    """One study, its commands and their kills."""

    kind: Kind
    folder: Path
    draw: random.Random
    expected: dict[str, str]

    def __post_init__(self) -> None:
        self.kills: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.known: dict[str, bytes] = {}
        self.started = 0
        self.victims = [self.start(number) for number in range(self.kind.commands)]

    def start(self, number: int) -> Victim:
        self.started += 1
        return self.kind.start(self.folder, number, self.folder.parent / f"said-{self.started}.txt")

    def tell(self) -> None:
        """From the first kill to the end, and what is wrong then."""
        try:
            while running := [number for number, each in enumerate(self.victims) if each.code != 0]:
                number = self.draw.choice(running)
                victim = self.victims[number]
                if len(self.kills) < self.kind.most:
                    self.hurt(victim)
                elif not victim.wait(PATIENCE):
                    self.problems.append(f"a command goes on for ever: {victim.words()[-300:]}")
                if self.problems:
                    return
                if victim.has_ended():
                    self.look_at_end(number, victim)
        finally:
            for victim in self.victims:
                victim.end()
        left = left_in(self.folder)
        for name in sorted(left.keys() | self.expected.keys()):
            if left.get(name) != self.expected.get(name):
                how = "missing" if name not in left else "other" if name in self.expected else "left behind"
                self.problems.append(f"{name} is {how}")

    def look_at_end(self, number: int, victim: Victim) -> None:
        if "Traceback" in victim.words() or victim.code not in (0, -9):
            self.problems.append(f"a command ended with {victim.code}: {victim.words()[-900:]}")
        now = {path.parent.name: path.read_bytes() for path in self.folder.glob("runs/*/record.json")}
        if {name: now.get(name) for name in self.known} != self.known:
            self.problems.append("a record was lost or changed")
        self.known = now
        if victim.code != 0:
            self.victims[number] = self.start(number)

    def hurt(self, victim: Victim) -> None:
        """Kill something of a command, unless it ends before."""
        target = self.draw.choices(list(self.kind.targets), list(self.kind.targets.values()))[0]
        if target == "worker" and victim.lost_workers == 2:
            target = next(iter(self.kind.targets))
        is_aimed, is_seen = self.draw.random() < 0.7, self.draw.random() < 0.8
        if is_aimed:
            doomed = self.aim(victim, target)
        else:
            victim.wait(self.draw.uniform(0, self.kind.span))
            doomed = self.doomed(victim, target)
        if victim.has_ended() or not doomed:
            return
        if is_seen:
            for pid in doomed:
                stop(pid)
        inside = is_seen and any(map(is_saving, doomed))
        if target == "worker":
            kill(doomed[0])
            victim.lost_workers += 1
        else:
            for pid in doomed if target == "both" else [victim.driver]:
                kill(pid)
            victim.wait(30)
        self.wait_for_the_end_of(doomed)
        half = any(self.folder.glob("runs/**/.*.partial"))
        what = {"target": target, "aimed": is_aimed, "seen": is_seen, "inside": inside, "half": half}
        self.kills.append(what)

    def aim(self, victim: Victim, target: str) -> list[int]:
        """Wait until something that will die is saving, for a while; a little later is another moment of the save."""
        patient_until = time.monotonic() + 3 * self.kind.span
        while not victim.has_ended():
            doomed = self.doomed(victim, target)
            if time.monotonic() > patient_until:
                return doomed
            if any(map(is_saving, doomed)):
                time.sleep(self.draw.choice((0, 0, 0.001, 0.004)))
                if any(map(is_saving, doomed)):
                    return doomed
            time.sleep(0.0005)
        return []

    def doomed(self, victim: Victim, target: str) -> list[int]:
        """Those that will die: workers end with their driver. Empty if there is no such process."""
        workers = victim.workers()
        if target == "worker":
            return [self.draw.choice(workers)] if workers else []
        return [] if target == "both" and not workers else [victim.driver, *workers]

    def wait_for_the_end_of(self, pids: list[int]) -> None:
        """A worker that is killed is gone when its driver, or whoever has it then, knows of it."""
        patient_until = time.monotonic() + 30
        while any(is_alive(pid) for pid in pids):
            if time.monotonic() > patient_until:
                self.problems.append("a worker outlives its driver")
                return
            time.sleep(0.001)


@contextmanager
def on_disk() -> Iterator[Path]:
    """A folder for as long as the block runs, where forcing a file to disk takes its time: that is when to kill."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="story-", dir=FOLDER))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def undisturbed() -> dict[str, str]:
    """What a study leaves behind that nobody disturbed; and everything is loaded, for the forks."""
    with on_disk() as folder:
        (folder / "recipe.py").write_text(RECIPE, encoding="utf-8")
        with inside(folder):
            for command in (study, partial(study, *POOL)):
                ended = in_child(command)
                assert ended.code == 0, ended.said
        return left_in(folder)


def tell(kind: Kind, number: int, expected: dict[str, str]) -> Row:
    started = time.monotonic()
    with on_disk() as top:
        folder = top / "shared"
        folder.mkdir()
        for each in range(kind.commands):
            (top / f"host-{each}").mkdir()
        (folder / "recipe.py").write_text(RECIPE, encoding="utf-8")
        story = Story(kind, folder, random.Random(f"{kind.name} {number}"), expected)
        story.tell()
        problems = [f"{kind.name}, story {number}: {each}" for each in story.problems]
        row = {"part": "kills", "kind": kind.name, "number": number, "kills": story.kills}
        return {**row, "commands": story.started, "problems": problems, "seconds": time.monotonic() - started}


def campaign(kept: Kept, effort: Effort) -> None:
    """The stories that are missing."""
    done = {(row["kind"], row["number"]) for row in kept.rows("kills")}
    wanted = [
        (KINDS[name], number)
        for name, counts in STORIES.items()
        for number in range(counts[effort.is_long])
        if (name, number) not in done
    ]
    if not wanted:
        return
    reasons = {kind.name: kind.impossible() for kind, _ in wanted}
    expected = undisturbed()
    children = []
    for at in range(effort.workers):
        child = os.fork()
        if child == 0:
            try:
                for kind, number in wanted[at :: effort.workers]:
                    if reasons[kind.name] is None:
                        kept.add(tell(kind, number, expected))
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    for name, reason in reasons.items():
        if reason is not None:
            print(f"kills, {name}: not tried: {reason}", file=sys.stderr)


def _table(rows: list[Row]) -> str:
    columns = ("stories", "commands", "kills", "driver", "worker", "both", "host", "in a save", "half a file")
    lines = [f"{'kills':<16}" + "".join(f"{name:>12}" for name in columns) + "  bad  seconds"]

    def line(name: str, own: list[Row]) -> str:
        kills = [each for row in own for each in row["kills"]]
        numbers = [len(own), sum(row["commands"] for row in own), len(kills)]
        numbers += [sum(each["target"] == target for each in kills) for target in columns[3:7]]
        numbers += [sum(each[what] for each in kills) for what in ("inside", "half")]
        bad = sum(bool(row["problems"]) for row in own)
        seconds = sum(row["seconds"] for row in own)
        return f"{name:<16}" + "".join(f"{each:>12}" for each in numbers) + f"  {bad:>3}  {seconds:>7.0f}"

    for name in dict.fromkeys(row["kind"] for row in rows):
        lines.append(line(name, [row for row in rows if row["kind"] == name]))
    return "\n".join([*lines, line("all", rows)])


PART = Part("kills", campaign, _table)
