"""Runs that are stopped after each of their epochs and continued: the same bits, for patterns, optimisers and tasks."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Any

from semfocus.runs import RunSpec, open_store
from semfocus.studies import grid
from semfocus.training import EpochResult, Observer, run
from tests.faults.kept import Effort, Kept, Part, Row
from tests.faults.matrix import in_memory
from tests.faults.planting import in_child
from tests.faults.scenarios import left_in

PATTERNS = (
    *("full", "top_k(2)", "bottom_k(2)", "top_p(0.9)", "top_k(2)+G1"),
    *("random(2)", "random(2,fixed)", "banded(3)", "block_local(2)", "banded(3)+G1"),
)
OPTIMISERS: dict[str, dict[str, Any]] = {
    "sgd": {},
    "momentum": {"momentum": 0.9, "weight_decay": 0.01},
    "adam": {"optimiser": "adam", "learning_rate": 0.01},
}
TASKS: dict[str, dict[str, Any]] = {"even_pairs": {}, "missing_duplicate": {"length": 6}, "text": {}}
EPOCHS = 4
TEXT = "the quick brown fox jumps over the lazy dog, and the dog sleeps on. " * 8


@dataclass(frozen=True)
class Stop(Observer):
    """Ends the process, or the training by Ctrl-C, when an epoch has been saved or in the middle of the next."""

    epoch: int
    is_killed: bool
    is_between: bool

    def batch_ended(self, epoch: int, batch: int, num_batches: int) -> None:
        if epoch == self.epoch + 1 and batch == 2 and not self.is_between:
            self._end()

    def epoch_ended(self, result: EpochResult) -> None:
        if result.epoch == self.epoch and self.is_between:
            self._end()

    def _end(self) -> None:
        if self.is_killed:
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyboardInterrupt


WAYS = [(is_killed, is_between) for is_killed in (True, False) for is_between in (True, False)]


def spec_of(pattern: str, optimiser: str, task: str, text: Path) -> RunSpec:
    """A run of a fraction of a second, with dropout."""
    training = {"length": 4, "num_train": 20, "num_held_out": 20, "epochs": EPOCHS, "batch_size": 5}
    base = {
        "task": f"text:{text}" if task == "text" else task,
        "model": {"d_model": 8, "d_mlp": 8, "num_blocks": 2, "dropout": 0.1},
        "training": training | TASKS[task] | OPTIMISERS[optimiser],
    }
    (spec,) = grid(base, pattern=[pattern], seed=[0])
    return spec


def command(spec: RunSpec, folder: Path, *observers: Observer) -> Callable[[], int]:
    def train() -> int:
        try:
            run(spec, open_store(folder / "runs"), observers=observers, checkpoint_seconds=0)
        except KeyboardInterrupt:
            return 130
        return 0

    return train


def stopped_after_each_epoch(pattern: str, optimiser: str, task: str, folder: Path) -> list[list[str]]:
    """For each pair of an undisturbed run and one that was stopped after an epoch: what differs."""
    text = folder / "text.txt"
    text.write_text(TEXT, encoding="utf-8")
    spec = spec_of(pattern, optimiser, task, text)
    ended = in_child(command(spec, folder / "whole"))
    assert ended.code == 0, ended.said
    whole, found = left_in(folder / "whole"), []
    for epoch in range(EPOCHS):
        is_killed, is_between = WAYS[(epoch + sum(map(ord, pattern + optimiser + task))) % len(WAYS)]
        place = folder / f"stopped-{epoch}"
        first = in_child(command(spec, place, Stop(epoch, is_killed, is_between)))
        second = in_child(command(spec, place))
        problems = []
        if (first.code, second.code) != (-signal.SIGKILL if is_killed else 130, 0):
            problems.append(f"ended with {first.code} and {second.code}: {first.said} {second.said}"[-600:])
        events = open_store(place / "runs").directory(spec).events()
        resumed = [event["resumed_after"] for event in events if event["event"] == "attempt"]
        if resumed != [-1, epoch]:
            problems.append(f"it continued after {resumed}")
        left = left_in(place)
        differing = [name for name in left.keys() | whole.keys() if left.get(name) != whole.get(name)]
        problems += [f"{name} differs" for name in sorted(differing)]
        found.append([f"{pattern}, {optimiser}, {task}, epoch {epoch}: {each}" for each in problems])
    return found


def resume(kept: Kept, effort: Effort) -> None:
    """The combinations that are missing, or every tenth of them."""
    done = {(row["pattern"], row["optimiser"], row["task"]) for row in kept.rows("resume")}
    combinations = list(product(PATTERNS, OPTIMISERS, TASKS))
    wanted = [each for each in combinations[:: 1 if effort.is_long else 11] if each not in done]
    children = []
    for at in range(effort.workers):
        child = os.fork()
        if child == 0:
            try:
                for pattern, optimiser, task in wanted[at :: effort.workers]:
                    started = time.monotonic()
                    with in_memory() as folder:
                        found = stopped_after_each_epoch(pattern, optimiser, task, folder)
                    row = {"part": "resume", "pattern": pattern, "optimiser": optimiser, "task": task}
                    row |= {"pairs": len(found), "unequal": sum(map(bool, found))}
                    kept.add({**row, "problems": list(chain(*found)), "seconds": time.monotonic() - started})
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def _table(rows: list[Row]) -> str:
    lines = [f"{'resume':<18}{'pairs':>7}{'unequal':>9}  seconds"]
    for column in ("pattern", "optimiser", "task"):
        for value in dict.fromkeys(row[column] for row in rows):
            lines.append(_line(value, [row for row in rows if row[column] == value]))
    return "\n".join([*lines, _line("all", rows)])


def _line(name: str, rows: list[Row]) -> str:
    pairs, unequal = (sum(row[column] for row in rows) for column in ("pairs", "unequal"))
    return f"{name:<18}{pairs:>7}{unequal:>9}  {sum(row['seconds'] for row in rows):>7.0f}"


PART = Part("resume", resume, _table)
