"""Every fault at every point, and loss of power, printed as one table: `make torture`.

What was tried is kept until a file of the project changes: the same command continues after an interruption.

    python -m tests.faults.torture                  # all that is missing, then the table
    python -m tests.faults.torture --states 200     # more states after each operation
    python -m tests.faults.torture --only trial     # one scenario
"""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch

from tests.faults.matrix import Ready, ready
from tests.faults.planting import MODES
from tests.faults.power import Losses, lose_power
from tests.faults.scenarios import SCENARIOS
from tests.portable import ROOT, fingerprint

FOLDER = ROOT / "build" / "torture"


class Kept:
    """One line of JSON for each thing that was tried in this state of the project."""

    def __init__(self, state: str) -> None:
        self.path = FOLDER / f"{state}.jsonl"
        FOLDER.mkdir(parents=True, exist_ok=True)

    def rows(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        *lines, _cut = self.path.read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]

    def add(self, row: dict[str, Any]) -> None:
        with open(self.path, "a", encoding="utf-8") as file:  # a line of several processes stays whole
            file.write(json.dumps(row) + "\n")


def plant(made: Ready, kept: Kept, workers: int) -> None:
    """Every case that is missing, in so many processes."""
    name = made.scenario.name
    done = {
        (row["number"], row["mode"]) for row in kept.rows() if row.get("scenario") == name and "mode" in row
    }
    cases = [case for case in made.cases() if case not in done]
    children = []
    for place in range(workers):
        child = os.fork()
        if child == 0:
            try:
                for number, mode in cases[place::workers]:
                    started = time.monotonic()
                    problems = made.problems(number, mode)
                    kind, where = made.points[number]
                    row = {"scenario": name, "number": number, "kind": kind, "place": where, "mode": mode}
                    kept.add({**row, "problems": problems, "seconds": time.monotonic() - started})
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def cut_power(made: Ready, kept: Kept, states: int) -> None:
    name = made.scenario.name
    if any(row.get("states per moment") == states and row["scenario"] == name for row in kept.rows()):
        return
    started = time.monotonic()
    found: Losses = lose_power(made, states)
    seconds = time.monotonic() - started
    kept.add({"scenario": name, "states per moment": states, **vars(found), "seconds": seconds})


def table(rows: list[dict[str, Any]], states: int) -> str:
    """What was tried, and what was wrong."""
    lines = [
        f"{'scenario':<14} {'points':>6} " + " ".join(f"{mode:>13}" for mode in MODES) + "  bad  seconds"
    ]
    planted = [row for row in rows if "mode" in row]
    for name in SCENARIOS:
        own = [row for row in planted if row["scenario"] == name]
        modes = Counter(row["mode"] for row in own)
        counts = " ".join(f"{modes[mode]:>13}" for mode in MODES)
        bad = sum(bool(row["problems"]) for row in own)
        seconds = sum(row["seconds"] for row in own)
        points = len({row["number"] for row in own})
        lines.append(f"{name:<14} {points:>6} {counts}  {bad:>3}  {seconds:>7.0f}")
    lines += [
        "",
        f"{'loss of power':<14} {'moments':>7} {'states':>8} {'distinct':>9} {'continued':>10}  bad  seconds",
    ]
    for row in rows:
        if row.get("states per moment") == states:
            numbers = f"{row['moments']:>7} {row['states']:>8} {row['distinct']:>9} {row['continued']:>10}"
            lines.append(
                f"{row['scenario']:<14} {numbers}  {len(row['problems']):>3}  {row['seconds']:>7.0f}"
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--states", type=int, default=70, help="after each operation, for loss of power")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--only", choices=list(SCENARIOS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    kept = Kept(fingerprint())
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    for name in SCENARIOS if options.only is None else [options.only]:
        with tempfile.TemporaryDirectory(prefix="torture-", dir=memory) as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                made = ready(name, Path(folder) / "one")
            plant(made, kept, options.workers)
            cut_power(made, kept, options.states)
        print(f"{name}: done", file=sys.stderr, flush=True)
    rows = kept.rows()
    print(table(rows, options.states))
    problems = [problem for row in rows for problem in row["problems"]]
    for problem in problems:
        print(" ".join(problem.split()))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
