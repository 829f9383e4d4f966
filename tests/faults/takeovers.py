"""A process that is stopped for long, loses its run to another one, and is continued: it must not write any more.

Where locks hold, nobody takes over from a stopped process. Here they are lost, as for a host that slept too long for
its file server, or that has locks of its own: the process that is stopped believes it has every lock.
"""

import contextlib
import io
import os
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semfocus.durable import intercept
from tests.faults.kept import Effort, Kept, Part, Row
from tests.faults.matrix import Ready, in_memory, ready
from tests.faults.planting import in_child
from tests.faults.scenarios import left_in
from tests.faults.victims import Victim, go_on, start_fork

NAMES = ("fresh study", "trial")


@dataclass
class Sleeper:
    """Stops before the operation of one number; if its locks are lost, they are granted without anybody knowing."""

    number: int
    are_locks_lost: bool = True

    def __post_init__(self) -> None:
        self.at = 0

    def __call__(self, kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        here, self.at = self.at == self.number, self.at + 1
        if here:
            os.kill(os.getpid(), signal.SIGSTOP)
        return None if kind == "lock" and self.are_locks_lost else make(*arguments)


def sleeping(
    command: Callable[[], int], number: int, folder: Path, name: str, are_locks_lost: bool = True
) -> Victim:
    """A command that was stopped before one of its operations, or has ended."""

    def stopped() -> int:
        with intercept(Sleeper(number, are_locks_lost)):
            return command()

    victim = start_fork(stopped, folder, folder / f"{name}.txt")
    _, status = os.waitpid(victim.pid, os.WUNTRACED)
    if not os.WIFSTOPPED(status):
        victim.code = os.waitstatus_to_exitcode(status)
    return victim


def take_over(made: Ready, number: int, other: int | None = None) -> Row:
    """Stopped before an operation, then another process does everything, then it is continued.

    With `other` that process is stopped as well, before this operation, and continued when the first has ended.
    """
    started, problems = time.monotonic(), []
    with made.copy() as folder:
        first = sleeping(made.scenario.command, number, folder, "first")
        second = sleeping(made.scenario.command, -1 if other is None else other, folder, "second")
        before = contents(folder)
        for victim in (first, second):
            go_on(victim.driver)
            if not victim.wait(120):
                problems.append("a process goes on for ever")
            victim.end()
            if (
                victim.code not in (0, 1, 2) or "Traceback" in victim.words()
            ):  # one line about what is missing
                problems.append(f"a process ended with {victim.code}: {victim.words()[-600:]}")
        after = contents(folder)
        last = in_child(made.scenario.command)
        if last.code != 0 or "Traceback" in last.said:
            problems.append(f"the same command again ended with {last.code}: {last.said[-600:]}")
        left = left_in(folder)
    wrote = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    different = [
        name for name in left.keys() | made.expected.keys() if left.get(name) != made.expected.get(name)
    ]
    problems += [f"{name} is not as it must be" for name in sorted(different)]
    kind, place = made.points[number]
    row = {"part": "takeovers", "scenario": made.scenario.name, "number": number, "other": other}
    row |= {"kind": kind, "place": place, "wrote": wrote if other is None else []}
    where = f"{made.scenario.name}, stopped before {number} ({kind} {place}), the other before {other}"
    return {
        **row,
        "problems": [f"{where}: {each}" for each in problems],
        "seconds": time.monotonic() - started,
    }


def contents(folder: Path) -> dict[str, bytes]:
    store = folder / "runs"
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}


def cases(made: Ready, is_long: bool) -> list[tuple[int, int | None]]:
    """Every operation, and pairs of them; or a tenth."""
    draw, num = random.Random(0), len(made.points)
    alone: list[tuple[int, int | None]] = [(number, None) for number in range(num)]
    pairs = [(draw.randrange(num), draw.randrange(num)) for _ in range(num)]
    draw.shuffle(alone)
    return [*alone, *pairs] if is_long else [*alone[: num // 10], *pairs[: num // 10]]


def all_points(kept: Kept, effort: Effort) -> None:
    """The cases that are missing."""
    for name in NAMES:
        done = {(row["number"], row["other"]) for row in kept.rows("takeovers") if row["scenario"] == name}
        with in_memory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                made = ready(name, folder / "one")
            wanted = [case for case in cases(made, effort.is_long) if case not in done]
            children = [_in_child(made, kept, wanted[at :: effort.workers]) for at in range(effort.workers)]
            for child in children:
                os.waitpid(child, 0)


def _in_child(made: Ready, kept: Kept, wanted: list[tuple[int, int | None]]) -> int:
    child = os.fork()
    if child == 0:
        try:
            for number, other in wanted:
                kept.add(take_over(made, number, other))
        finally:
            os._exit(0)
    return child


def _table(rows: list[Row]) -> str:
    lines = [f"{'takeovers':<14}{'points':>8}{'wrote after':>14}{'of two':>8}  bad  seconds"]
    for name in NAMES:
        own = [row for row in rows if row["scenario"] == name]
        alone = [row for row in own if row["other"] is None]
        wrote = sum(bool(row["wrote"]) for row in alone)
        bad = sum(bool(row["problems"]) for row in own)
        seconds = sum(row["seconds"] for row in own)
        lines.append(
            f"{name:<14}{len(alone):>8}{wrote:>14}{len(own) - len(alone):>8}  {bad:>3}  {seconds:>7.0f}"
        )
    return "\n".join(lines)


PART = Part("takeovers", all_points, _table)
