"""Every point x every mode of every scenario: the same command again must end as if nothing had happened."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from semfocus.measurements.landscape import survey
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
