"""Claim: an epoch of short sequences takes at most twice the time of the bare matrix products it needs.

even_pairs at the paper's setting (5 blocks, length 40, width 64), one thread, for top_k(5) and full: 200 training
steps of 25 samples, then the evaluation of 5,000 + 2,000 samples, as the real training loop does both, each divided by
its matrix products alone.

    python benchmarks/epoch.py [--repeats 5] [--before DIR]

`--before DIR` measures an earlier version too, in turns with this one, and prints how much longer it takes. DIR is a
worktree of this repository (`git worktree add DIR COMMIT`); to compile its kernels, if it has any, run
`python setup.py build_ext --inplace` inside it.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import semfocus
from products import block_products, run_all
from semfocus.runs import RunSpec
from semfocus.training.device import limited_threads
from semfocus.training.evaluation import evaluation_batch_size
from timing import benchmark_parser, print_claim, print_table, started

CHILD = Path(__file__).parent / "epoch_child.py"
PATTERNS, PARTS, CLAIMED = ("top_k(5)", "full"), ("training", "evaluation"), 2


class Version:
    """A process that trains epochs with the semfocus of one source folder; it waits while it is not asked."""

    def __init__(self, source: Path, sizes: tuple[int, int]) -> None:
        path = os.pathsep.join([str(source), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.process = subprocess.Popen(
            [sys.executable, str(CHILD), *map(str, sizes)],
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.about = self._answer()
        if source.resolve() not in Path(self.about["file"]).resolve().parents:
            raise SystemExit(f"{source} holds no semfocus: {self.about['file']} was used instead")

    def epoch(self, pattern: str) -> dict[str, float]:
        """Milliseconds of the parts of one epoch."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{pattern}\n")
        self.process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        self.process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit("a measuring process failed; its message stands above")
        return json.loads(line)


def bare_epoch(pattern: str, sizes: tuple[int, int]) -> Callable[[], dict[str, float]]:
    """The same for the bare products: the parts' products, preallocated."""
    spec = RunSpec(task="even_pairs", pattern=pattern)
    model, length, batch_size = spec.model, spec.training.length, spec.training.batch_size
    assert isinstance(length, int)
    batches = {"training": batches_of(sizes[0], batch_size)}
    at_once = evaluation_batch_size(length)
    batches["evaluation"] = batches_of(sizes[0], at_once) + batches_of(sizes[1], at_once)
    products = {
        (part, size): block_products(model, spec.pattern_value, size, length, backward=part == "training")
        for part in PARTS
        for size in set(batches[part])
    }

    def run() -> dict[str, float]:
        times = {}
        for part in PARTS:
            start = perf_counter()
            for size in batches[part]:
                run_all(products[part, size], model.num_blocks)
            times[part] = 1e3 * (perf_counter() - start)
        return times

    return run


def batches_of(num: int, size: int) -> list[int]:
    """The sizes of the batches: all alike but perhaps the last."""
    return [min(size, num - first) for first in range(0, num, size)]


def measure(
    versions: dict[str, Version], sizes: tuple[int, int], repeats: int
) -> dict[tuple[str, str, str], float]:
    """Median milliseconds by (pattern, version or `products`, part), measured in turns after a round to warm up."""
    bare = {pattern: bare_epoch(pattern, sizes) for pattern in PATTERNS}
    found: dict[tuple[str, str, str], list[float]] = {}
    for repeat in range(repeats + 1):
        for pattern in PATTERNS:
            times = {name: version.epoch(pattern) for name, version in versions.items()}
            times["products"] = bare[pattern]()
            if repeat:
                for name, parts in times.items():
                    for part, value in {**parts, "both": sum(parts.values())}.items():
                        found.setdefault((pattern, name, part), []).append(value)
    return {key: statistics.median(values) for key, values in found.items()}


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=5)
    parser.add_argument("--before", type=Path, metavar="DIR", help="root of a worktree of an earlier version")
    arguments = started(parser, words)
    sizes, repeats = ((50, 25), 1) if arguments.smoke else ((5000, 2000), arguments.repeats)
    sources = {"now": Path(semfocus.__file__).parents[1]}
    if arguments.before:
        sources["before"] = (arguments.before / "src").resolve()
    versions = {name: Version(source, sizes) for name, source in sources.items()}
    for name, version in versions.items():
        print(f"{name}: kernels {version.about['kernels']}")
    with limited_threads(1):
        times = measure(versions, sizes, repeats)
    for version in versions.values():
        version.close()

    print("one epoch of even_pairs, one thread, milliseconds")
    names = [*versions, "products"]
    rows = [
        (pattern, part, *(times[pattern, name, part] for name in names))
        for pattern in PATTERNS
        for part in (*PARTS, "both")
    ]
    print_table(("pattern", "part", *names), rows)
    for pattern in PATTERNS:
        for part in (*PARTS, "both"):
            ratio = times[pattern, "now", part] / times[pattern, "products", part]
            print_claim(f"{pattern}, {part}: now / products", ratio, at_most=CLAIMED)
    for pattern in PATTERNS if arguments.before else ():
        ratio = times[pattern, "before", "both"] / times[pattern, "now", "both"]
        print(f"{pattern}, the whole epoch: before / now: {ratio:.2f}")


if __name__ == "__main__":
    main()
