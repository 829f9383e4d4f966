"""Claim: the memory of top-k attention grows linearly with the length, to at most 256 MiB at length 32768.

Forward and backward of top_k(64), one head of width 64: the growth of the peak of resident memory in a process of its
own, inputs and gradients included. Linearly means an exponent of at most 1.1 in a least-squares fit of the logarithms.

    python benchmarks/memory.py [--repeats 3] [--threads 2]
"""

import math
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from timing import (
    add_output,
    benchmark_parser,
    output_folder,
    print_claim,
    print_table,
    started,
    write_csv,
)

CHILD = Path(__file__).parent / "memory_child.py"
METHODS = ("ours", "ours, torch", "SDPA full")
LENGTHS, SMOKE_LENGTHS = (4096, 8192, 16384, 32768), (256, 4096)
MOST_MEBIBYTES, LARGEST_EXPONENT = 256, 1.1
HEADER = ("method", "length", "threads", "median mebibytes", "repeats")


class NotAvailable(Exception):
    """The method does not run here; the message says why."""


def growth(method: str, length: int, threads: int) -> float:
    """Mebibytes that one process of its own needs."""
    command = [sys.executable, str(CHILD), method, str(length), str(threads)]
    child = subprocess.run(command, capture_output=True, text=True)
    if child.returncode != 0:
        reason = child.stderr.strip().rpartition("\n")[2]
        if reason.startswith("ValueError: implementation"):
            raise NotAvailable(reason)
        raise RuntimeError(f"{' '.join(command)} failed: {child.stderr}")
    return int(child.stdout) / 2**20


def exponent(lengths: Sequence[int], values: Sequence[float]) -> float:
    """The slope of the least-squares line through the logarithms."""
    slope, _ = statistics.linear_regression(
        [math.log(length) for length in lengths], [math.log(max(value, 1e-3)) for value in values]
    )
    return slope


def measure(
    methods: Sequence[str], lengths: Sequence[int], threads: int, repeats: int
) -> dict[str, list[float]]:
    """Median mebibytes of each method at each length, measured in turns."""
    found: dict[str, list[list[float]]] = {method: [[] for _ in lengths] for method in methods}
    for _ in range(repeats):
        for method in list(found):
            try:
                for index, length in enumerate(lengths):
                    found[method][index].append(growth(method, length, threads))
            except NotAvailable as error:
                print(f"without {method}: {error}")
                del found[method]
    return {method: [statistics.median(each) for each in columns] for method, columns in found.items()}


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=3)
    add_output(parser)
    parser.add_argument("--threads", type=int, default=2)
    arguments = started(parser, words)
    lengths, repeats = (SMOKE_LENGTHS, 1) if arguments.smoke else (LENGTHS, arguments.repeats)
    methods = METHODS[:1] if arguments.smoke else METHODS
    medians = measure(methods, lengths, arguments.threads, repeats)
    print(f"top_k(64), forward+backward, threads: {arguments.threads}, mebibytes at each length")
    exponents = {method: exponent(lengths, values) for method, values in medians.items()}
    table = [(method, *values, exponents[method]) for method, values in medians.items()]
    print_table(("method", *map(str, lengths), "exponent"), table)
    folder = output_folder(arguments)
    if folder:
        rows = [
            (method, length, arguments.threads, value, repeats)
            for method, values in medians.items()
            for length, value in zip(lengths, values, strict=True)
        ]
        write_csv(folder / "memory.csv", HEADER, rows)
    for method, values in medians.items():
        if method.startswith("ours"):
            print_claim(f"{method}: mebibytes at {lengths[-1]}", values[-1], at_most=MOST_MEBIBYTES)
            print_claim(f"{method}: exponent", exponents[method], at_most=LARGEST_EXPONENT)


if __name__ == "__main__":
    main()
