"""Claim: a block as one operation makes a training step at least 1.1 times faster, at length 40 and at 600.

An ablation: the same training step with the whole block as one compiled operation, and with compiled
attention and passes between PyTorch's matrix products, which is what a block is when it cannot be fused.
even_pairs (5 blocks, length 40, one thread) and ListOps (10 blocks, length 600, two threads), both at the
paper's setting; also the evaluation of one batch.

    python benchmarks/fused_block.py [--repeats 9]
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

from semfocus.model.block import Block
from semfocus.runs import RunSpec
from semfocus.training import build_model, dataset_of
from semfocus.training.device import keep_freed_memory, limited_threads
from timing import benchmark_parser, interleaved, print_claim, print_table, started
from training_step import step_of

PATTERNS = ("top_k(5)", "full", "banded(5)")
#: task, length, threads, what the gain is claimed to be at least
CASES = (("even_pairs", 40, 1, 1.1), ("listops", 600, 2, 1.1))


def spec_of(task: str, pattern: str, length: int, smoke: bool) -> RunSpec:
    """The paper's setting with as many samples as one batch has."""
    changes: dict[str, object] = {"model": {"num_blocks": 1}} if smoke else {}
    training = {"length": length, "num_train": 2 if smoke else 25, "num_held_out": 1}
    return RunSpec(task=task, pattern=pattern, training=training, **changes)


@contextmanager
def taken_apart() -> Iterator[None]:
    """While open, no block is fused."""
    fusible = Block._can_be_fused
    Block._can_be_fused = lambda self, x, mask, chosen=None: False  # type: ignore[method-assign]
    try:
        yield
    finally:
        Block._can_be_fused = fusible  # type: ignore[method-assign]


def apart(method: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        with taken_apart():
            method()

    return run


def evaluation_of(spec: RunSpec) -> Callable[[], None]:
    """One batch without gradients."""
    model, samples = build_model(spec).eval(), dataset_of(spec).train

    def evaluate() -> None:
        with torch.no_grad():
            model(samples.tokens)

    return evaluate


def main(words: Sequence[str] | None = None) -> None:
    arguments = started(benchmark_parser(__doc__, repeats=9), words)
    keep_freed_memory()
    rows = []
    for task, length, threads, claimed in CASES:
        length = min(length, 20) if arguments.smoke else length
        with limited_threads(threads):
            for pattern in PATTERNS:
                spec = spec_of(task, pattern, length, arguments.smoke)
                methods = {"step": step_of(spec), "evaluation": evaluation_of(spec)}
                timed = {f"{name} fused": method for name, method in methods.items()}
                timed |= {f"{name} apart": apart(method) for name, method in methods.items()}
                times = interleaved(timed, 1 if arguments.smoke else arguments.repeats)
                for name in methods:
                    fused, separate = times[f"{name} fused"], times[f"{name} apart"]
                    rows.append(
                        (f"{task} {length}", pattern, name, fused, separate, separate / fused, claimed)
                    )
    print("milliseconds")
    print_table(
        ("task, length", "pattern", "what", "fused", "apart", "apart / fused"), [row[:6] for row in rows]
    )
    for task, pattern, name, _, _, gain, claimed in rows:
        if name == "step":
            print_claim(f"step apart / fused, {task}, {pattern}", gain, at_least=claimed)


if __name__ == "__main__":
    main()
