"""Claim: a training step takes at most twice the time of the bare matrix products it needs.

ListOps at the paper's setting (10 blocks, batch 25, length 600, width 64, dropout 0.01), two threads, for top_k(5),
full and banded(5): a step of the real training loop with forward, loss, backward, clipping and SGD, divided by its
matrix products alone, which the output lists. Also printed: full against top_k(5).

    python benchmarks/training_step.py [--repeats 9] [--threads 2] [--length 501:599] [--fresh-memory]

`--length 501:599` takes the lengths of the paper's data, with padding, instead of 600 for all. `--fresh-memory` returns
freed memory to the system after every step, which the training loop avoids: it shows what page faults cost.
"""

import ctypes
import resource
from collections.abc import Callable, Sequence
from itertools import count

import torch

from products import Product, block_products, run_all
from semfocus.randomness import stream
from semfocus.runs import RunSpec
from semfocus.training import build_model, dataset_of
from semfocus.training.device import keep_freed_memory, limited_threads
from semfocus.training.evaluation import padding_of
from semfocus.training.loop import training_step
from semfocus.training.optimiser import build_optimiser, set_learning_rate
from timing import benchmark_parser, interleaved, print_claim, print_table, started

PATTERNS = ("top_k(5)", "full", "banded(5)")
CLAIMED = 2


def paper_spec(pattern: str, length: int | tuple[int, int], smoke: bool) -> RunSpec:
    """ListOps as in the paper, with as many samples as one batch has."""
    changes: dict[str, object] = {"model": {"num_blocks": 1}} if smoke else {}
    training = {"length": length, "num_train": 2 if smoke else 25, "num_held_out": 1}
    return RunSpec(task="listops", pattern=pattern, training=training, **changes)


def step_of(spec: RunSpec) -> Callable[[], None]:
    """A step as the training loop does it, each with its own noise."""
    samples = dataset_of(spec).train
    model = build_model(spec).train()
    optimiser = build_optimiser(model, spec.training)
    set_learning_rate(optimiser, spec.training, epoch=1)
    padding, rows, steps = padding_of(samples), torch.randperm(len(samples)), count()

    def step() -> None:
        noise = stream(spec.seed, "noise", next(steps))
        training_step(model, optimiser, samples, padding, rows, spec.training, noise)

    return step


def return_freed_memory() -> None:
    """Make the C library give everything back at once, as it may do by itself without `keep_freed_memory`."""
    trim_threshold, mmap_threshold = -1, -3
    mallopt = ctypes.CDLL(None).mallopt
    mallopt(trim_threshold, 0)
    mallopt(mmap_threshold, 2**17)


def page_faults(step: Callable[[], None]) -> float:
    """How often the second of two steps met a page of memory that the system had yet to hand out."""
    step()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    step()
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)


def products_of(spec: RunSpec) -> list[Product]:
    """The products of one block."""
    length = spec.training.length
    longest = length if isinstance(length, int) else length[1]
    return block_products(spec.model, spec.pattern_value, spec.training.num_train, longest, backward=True)


def read_length(text: str) -> int | tuple[int, int]:
    """`600` or `501:599`."""
    low, _, high = text.partition(":")
    return (int(low), int(high)) if high else int(low)


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--length", type=read_length, default=600)
    parser.add_argument("--fresh-memory", action="store_true", help="return freed memory after every step")
    arguments = started(parser, words)
    return_freed_memory() if arguments.fresh_memory else keep_freed_memory()
    length, repeats = (20, 1) if arguments.smoke else (arguments.length, arguments.repeats)
    specs = {pattern: paper_spec(pattern, length, arguments.smoke) for pattern in PATTERNS}
    products = {pattern: products_of(spec) for pattern, spec in specs.items()}
    num_blocks = specs["full"].model.num_blocks

    def bare(pattern: str) -> Callable[[], None]:
        return lambda: run_all(products[pattern], num_blocks)

    methods = {f"step {pattern}": step_of(spec) for pattern, spec in specs.items()}
    methods |= {f"products {pattern}": bare(pattern) for pattern in PATTERNS}
    with limited_threads(arguments.threads):
        times = interleaved(methods, repeats)
        faults = {pattern: page_faults(methods[f"step {pattern}"]) for pattern in PATTERNS}
        alone = {
            pattern: interleaved({each.name: each.run for each in products[pattern]}, repeats)
            for pattern in PATTERNS
        }

    for pattern in PATTERNS:
        print(f"bare products of {pattern}, {num_blocks} times each; milliseconds of one alone")
        print_table(
            ("product", "shape", "milliseconds"),
            [(each.name, each.shape, alone[pattern][each.name]) for each in products[pattern]],
        )
    print(f"one training step, length {length}, threads: {arguments.threads}, milliseconds")
    rows = [(pattern, times[f"step {pattern}"], times[f"products {pattern}"]) for pattern in PATTERNS]
    print_table(
        ("pattern", "step", "products", "ratio", "page faults per step"),
        [(*row, row[1] / row[2], faults[row[0]]) for row in rows],
    )
    for pattern, step, bare_products in rows:
        print_claim(f"step / products, {pattern}", step / bare_products, at_most=CLAIMED)
    print(f"step of full / step of top_k(5): {times['step full'] / times['step top_k(5)']:.2f}")


if __name__ == "__main__":
    main()
