"""Claim: two workers of the pool train at least 0.95 as fast as two processes started by hand.

The same runs (even_pairs at length 40, one thread each) by `run_study(workers=2)` and by two independent processes that
each train half of them, in turns, in stores of their own. What counts is epochs per second while training, from the
first epoch to the last of each process: loading torch takes both the same seconds.

    python benchmarks/pool.py [--repeats 3]
"""

import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from semfocus.studies import RunSpec, Watcher, grid, run_study
from timing import benchmark_parser, print_claim, print_table, started

WORKERS, CLAIMED = 2, 0.95

BY_HAND = """
import json, sys, time
from pathlib import Path
from semfocus.runs import RunSpec, Store
from semfocus.training import Observer, run

moments = []

class Clock(Observer):
    def run_started(self, first_epoch, last_epoch):
        moments.append(time.monotonic())
    def epoch_ended(self, result):
        moments.append(time.monotonic())

for values in json.loads(sys.argv[1]):
    run(RunSpec(**values), Store(Path(sys.argv[2])), observers=[Clock()], device="cpu")
print(json.dumps([moments[0], moments[-1]]))
"""


def specs_of(epochs: int, num_train: int, runs: int) -> list[RunSpec]:
    """Runs of equal length, so that both halves end at about the same time."""
    training = {"epochs": epochs, "num_train": num_train, "num_held_out": num_train // 2}
    return grid({"task": "even_pairs", "pattern": "top_k(5)", "training": training}, seed=list(range(runs)))


class Clock(Watcher):
    """When the first run began and the last one ended."""

    def __init__(self) -> None:
        self.moments: list[float] = []

    def run_started(self, spec: RunSpec, attempt: int) -> None:
        self.moments.append(monotonic())

    def epoch_ended(self, spec: RunSpec, row: dict[str, Any]) -> None:
        self.moments.append(monotonic())


def in_the_pool(specs: Sequence[RunSpec], store: Path) -> float:
    """Seconds from the first start to the last epoch."""
    clock = Clock()
    run_study(specs, store, workers=WORKERS, device="cpu", watcher=clock)
    return clock.moments[-1] - clock.moments[0]


def by_hand(specs: Sequence[RunSpec], store: Path) -> float:
    """The same for processes that know nothing of each other."""
    processes = []
    for worker in range(WORKERS):
        share = json.dumps([spec.model_dump(mode="json") for spec in specs[worker::WORKERS]])
        processes.append(
            subprocess.Popen(
                [sys.executable, "-c", BY_HAND, share, str(store)], stdout=subprocess.PIPE, text=True
            )
        )
    moments = []
    for process in processes:
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit("a process failed; its message stands above")
        moments += json.loads(output)
    return max(moments) - min(moments)


def main(words: Sequence[str] | None = None) -> None:
    arguments = started(benchmark_parser(__doc__, repeats=3), words)
    sizes, repeats = ((1, 50, 2), 1) if arguments.smoke else ((6, 2500, 8), arguments.repeats)
    specs = specs_of(*sizes)
    ways: dict[str, Callable[[Sequence[RunSpec], Path], float]] = {"by hand": by_hand, "pool": in_the_pool}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for repeat in range(repeats):
            for name, way in ways.items():
                seconds[name].append(way(specs, Path(folder) / f"{name} {repeat}"))
    epochs = sizes[0] * sizes[2]
    print_table(
        ("round", *(f"{name}, epochs per second" for name in ways)),
        [(repeat + 1, *(epochs / seconds[name][repeat] for name in ways)) for repeat in range(repeats)],
    )
    ratio = statistics.median(
        hand / pool for hand, pool in zip(seconds["by hand"], seconds["pool"], strict=True)
    )
    print_claim("pool / by hand, epochs per second", ratio, at_least=CLAIMED)


if __name__ == "__main__":
    main()
