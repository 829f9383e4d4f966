"""The part of `make torture` about numbers: rounding errors of the kernels, and whether they stay the same."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import quantiles
from typing import Any

import torch

from semfocus.kernels.cpu.library import compiled_library, possible_instruction_sets
from tests.faults.kept import Effort, Kept, Part, Row
from tests.kernels.numerics import steady
from tests.kernels.numerics.blocks import judged_block
from tests.kernels.numerics.errors import Error, judged
from tests.kernels.numerics.inputs import hard_case
from tests.kernels.numerics.memory import growth_of

#: the promise: our error, the root of the mean squared one, in units of PyTorch's
WITHIN = 1.25
#: More is no luck of rounding: a wrong kernel is off by orders of magnitude. Measured at most: 5.8 in attention (a sum
#: of 1,447 kept values in one piece), 14 in a block, 3.1 in LayerNorm.
LIMITS = {"attention": 12.0, "block": 40.0, "norm": 6.0}


@contextmanager
def instruction_set_of(number: int) -> Iterator[None]:
    """Those of this machine take turns."""
    library = compiled_library()
    assert library is not None
    sets = possible_instruction_sets(library.best)
    before, library.instruction_set = library.instruction_set, sets[number // 3 % len(sets)]
    try:
        yield
    finally:
        library.instruction_set = before


def tried(kind: str, number: int, longest: int) -> Row:
    """One case: ratios of errors, by tensor, and what is wrong."""
    problems, ratios = [], {}
    with instruction_set_of(number):
        if kind == "block":
            found, title = judged_block(number), f"block {number}"
            ratios = _plain(found)
        else:
            case = hard_case(number, longest)
            seen, title = judged(case), str(case)
            found = seen.by_rows
            ratios = _plain(seen.ratios) | {f"{name}, rows": each for name, each in _plain(found).items()}
            if seen.selection:
                problems.append(f"{title}: {seen.selection} ({seen.slack:.2g} times)")
    for name, error in found.items():
        limit = LIMITS["attention" if kind == "attention" else name.split()[0]]
        if not error.mean <= limit:
            problems.append(f"{title}: the error of the {name} is {error.mean:.2g} times PyTorch's")
    return {"what": kind, "number": number, "ratios": ratios, "problems": problems}


def _plain(ratios: dict[str, Error]) -> dict[str, list[float]]:
    return {name: [error.mean, error.largest] for name, error in ratios.items()}


def steadiness(is_long: bool) -> dict[str, Callable[[], Row]]:
    """What is tried once, each by its name."""
    many = 5 if is_long else 1

    def repeats(number: int, threads: int, at_once: int) -> Row:
        return {"tries": number, "problems": steady.repeated(number, threads, at_once)}

    def interrupts() -> Row:
        problems, during = steady.after_interrupts(200 * many)
        return {"tries": 200 * many, "during": during, "problems": problems}

    def memory(name: str) -> Row:
        steps = 2_000 * many
        grown = growth_of(name, steps)
        return {"tries": steps, "grown": grown.resident, "problems": grown.problems(steps)}

    return {
        "repeats, 1 thread": lambda: repeats(1_600 * many, 1, 1),
        "repeats, 2 threads": lambda: repeats(200 * many, 2, 1),
        "repeats, 2 of Python": lambda: repeats(200 * many, 1, 2),
        "1, 2 and 4 threads": lambda: {"tries": 3 * len(steady.CALLS), "problems": steady.by_threads()},
        "forks": lambda: {"tries": 60 * many, "problems": steady.after_forks(60 * many)},
        "interrupts": interrupts,
        "training steps": lambda: memory("plain"),
        "steps with a capture": lambda: memory("captured"),
    }


def attack(kept: Kept, effort: Effort) -> None:
    if compiled_library() is None:
        return
    cases = [("attention", at) for at in range(6_000 if effort.is_long else 400)]
    cases += [("block", at) for at in range(1_500 if effort.is_long else 100)]
    longest = 2048 if effort.is_long else 400
    done = {(row["what"], row.get("number"), row["long"]) for row in kept.rows("numerics")}
    missing = [case for case in cases if (*case, effort.is_long) not in done]
    children = [
        _in_child(kept, missing[at :: effort.workers], longest, effort) for at in range(effort.workers)
    ]
    for child in children:
        os.waitpid(child, 0)
    for name, attempt in steadiness(effort.is_long).items():
        if (name, None, effort.is_long) not in done:
            started = time.monotonic()
            row = {"part": "numerics", "what": name, "long": effort.is_long, **attempt()}
            kept.add({**row, "seconds": time.monotonic() - started})


def _in_child(kept: Kept, cases: list[tuple[str, int]], longest: int, effort: Effort) -> int:
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            for kind, number in cases:
                started = time.monotonic()
                row = {"part": "numerics", "long": effort.is_long, **tried(kind, number, longest)}
                kept.add({**row, "seconds": time.monotonic() - started})
        finally:
            os._exit(0)
    return child


def _table(rows: list[Row]) -> str:
    is_long = any(row["long"] for row in rows)
    rows = [row for row in rows if row["long"] == is_long]
    measured = [row for row in rows if "ratios" in row]
    lines = [f"{'numerics':<24} {'cases':>6}  within {WITHIN}  median    99 %   worst  largest error, worst"]
    for name in dict.fromkeys(name for row in measured for name in row["ratios"]):
        lines.append(_line(name, [row["ratios"][name] for row in measured if name in row["ratios"]]))
    bad = sum(bool(row["problems"]) for row in measured)
    lines += [f"bad: {bad}  seconds: {sum(row['seconds'] for row in measured):.0f}", ""]
    lines.append(f"{'steadiness':<24} {'tries':>6}  bad  seconds")
    for row in rows:
        if "tries" in row:
            told = f"  {row['grown']:,} bytes more" if "grown" in row else ""
            told = f"  {row['during']} of them during a call" if "during" in row else told
            lines.append(
                f"{row['what']:<24} {row['tries']:>6}  {len(row['problems']):>3}  {row['seconds']:>7.0f}{told}"
            )
    return "\n".join(lines)


def _line(name: str, ratios: list[Any]) -> str:
    means, largest = [mean for mean, _ in ratios], [most for _, most in ratios]
    middle, tail = (quantiles([*means, *means[:1]], n=100)[at] for at in (49, 98))
    share = sum(mean <= WITHIN for mean in means) / len(means)
    return (
        f"{name:<24} {len(means):>6}  {share:>11.1%} {middle:>7.2f} {tail:>7.2f} "
        f"{max(means):>7.2f} {max(largest):>8.2f}"
    )


PART = Part("numerics", attack, _table)
