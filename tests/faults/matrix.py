"""Every point x every mode of every scenario: the same command again must end as if nothing had happened."""

import contextlib
import io
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semfocus.measurements.landscape import survey
from tests.faults.kept import Effort, Kept, Part, Row
from tests.faults.planting import MODES, Fault, Mode, in_child, possible
from tests.faults.scenarios import SCENARIOS, Points, Scenario, inside, left_in, undisturbed


@dataclass(frozen=True)
class Ready:
    """A scenario that was prepared once; every case starts from a copy."""

    scenario: Scenario
    origin: Path
    points: Points
    expected: dict[str, str]

    def cases(self) -> list[tuple[int, Mode]]:
        return [
            (number, mode)
            for number, (kind, _) in enumerate(self.points)
            for mode in MODES
            if possible(kind, mode)
        ]

    @contextmanager
    def copy(self) -> Iterator[Path]:
        with self.empty() as folder:
            shutil.copytree(self.origin, folder, dirs_exist_ok=True)
            yield folder

    @contextmanager
    def empty(self) -> Iterator[Path]:
        folder = Path(tempfile.mkdtemp(prefix="case-", dir=self.origin.parent))
        try:
            with inside(folder):
                yield folder
        finally:
            shutil.rmtree(folder)

    def problems(self, number: int, mode: Mode) -> list[str]:
        """What is wrong after a fault at one point and the same command again."""
        found = []
        with self.copy() as folder:
            first = in_child(self.scenario.command, Fault(number, mode))
            if mode.startswith("killed") != (first.code < 0):
                found.append(f"the first command ended with {first.code}")
            if "Traceback" in first.said:
                found.append(f"a traceback: {first.said[-600:]}")
            second = in_child(self.scenario.command)
            if second.code != 0 or "Traceback" in second.said:
                found.append(f"the second command ended with {second.code}: {second.said[-600:]}")
            left = left_in(folder)
        for name in sorted(left.keys() | self.expected.keys()):
            if left.get(name) != self.expected.get(name):
                found.append(_difference(name, left, self.expected))
        kind, place = self.points[number]
        return [f"{self.scenario.name}, {number} ({kind} {place}), {mode}: {each}" for each in found]


def _difference(name: str, left: dict[str, str], expected: dict[str, str]) -> str:
    if name not in left:
        return f"{name} is missing"
    return f"{name} is left behind" if name not in expected else f"{name} differs"


def ready(name: str, folder: Path) -> Ready:
    """Prepare a scenario in a folder and note what its command does there when nothing goes wrong."""
    scenario, origin = SCENARIOS[name], folder / "origin"
    origin.mkdir(parents=True)
    scenario.prepare(origin)
    made = Ready(scenario, origin, [], {})
    with made.copy():  # here, so that the children need not import anything
        assert scenario.command() == 0
        survey._at_hand.clear()
    with made.copy() as copy:
        points, _ = undisturbed(scenario.command, copy)
        return Ready(scenario, origin, points, left_in(copy))


@contextmanager
def in_memory() -> Iterator[Path]:
    """A folder for as long as the block runs, where forcing a file to disk costs nothing, if there is such a place."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="torture-", dir=memory) as folder:
        yield Path(folder)


def plant(kept: Kept, effort: Effort) -> None:
    """Every case that is missing."""
    for name in SCENARIOS:
        done = {(row["number"], row["mode"]) for row in kept.rows("faults") if row["scenario"] == name}
        with in_memory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                made = ready(name, folder / "one")
            cases = [case for case in made.cases() if case not in done]
            children = [
                _plant_in_child(made, kept, cases[at :: effort.workers]) for at in range(effort.workers)
            ]
            for child in children:
                os.waitpid(child, 0)


def _plant_in_child(made: Ready, kept: Kept, cases: list[tuple[int, Mode]]) -> int:
    child = os.fork()
    if child == 0:
        try:
            for number, mode in cases:
                started = time.monotonic()
                problems = made.problems(number, mode)
                kind, where = made.points[number]
                row = {"part": "faults", "scenario": made.scenario.name, "number": number, "kind": kind}
                row |= {"place": where, "mode": mode, "problems": problems}
                kept.add({**row, "seconds": time.monotonic() - started})
        finally:
            os._exit(0)
    return child


def _table(rows: list[Row]) -> str:
    lines = [f"{'faults':<14} {'points':>6} " + " ".join(f"{mode:>13}" for mode in MODES) + "  bad  seconds"]
    for name in SCENARIOS:
        own = [row for row in rows if row["scenario"] == name]
        modes = Counter(row["mode"] for row in own)
        counts = " ".join(f"{modes[mode]:>13}" for mode in MODES)
        bad = sum(bool(row["problems"]) for row in own)
        points = len({row["number"] for row in own})
        lines.append(f"{name:<14} {points:>6} {counts}  {bad:>3}  {sum(row['seconds'] for row in own):>7.0f}")
    return "\n".join(lines)


PART = Part("faults", plant, _table)
