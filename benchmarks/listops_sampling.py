"""The claim: exact sampling of 9,000 ListOps samples of length 501 to 599 is at least 20 times faster than rejection.

Run with `python benchmarks/listops_sampling.py`. Ours draws 9,000 samples; rejection, the usual
recursive generator that throws whole trees away until a length fits and then writes the tree's tokens
and computes its value, draws 150. Both are timed in turns, on one thread, and the medians compared.
"""

import random
import statistics
import time
from collections.abc import Callable

import torch

from semfocus.tasks import TASKS

CLAIMED_RATIO = 20
NUM_OURS, NUM_REJECTION, REPEATS = 9000, 150, 5
LOW, HIGH = 501, 599
MAX_DEPTH, OPERATOR_PROBABILITY = 10, 0.25


def median(values: list[int]) -> int:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) // 2


OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "[MIN": min,
    "[MAX": max,
    "[MED": median,
    "[SM": lambda values: sum(values) % 10,
}
NAMES = list(OPERATORS)


Tree = int | tuple[str, list["Tree"]]


def grow(depth: int, source: random.Random) -> tuple[Tree, int]:
    """A random tree and its length."""
    if depth == MAX_DEPTH or source.random() >= OPERATOR_PROBABILITY:
        return source.randrange(10), 1
    arguments, length = [], 2
    for _ in range(source.randint(2, 10)):
        argument, its_length = grow(depth + 1, source)
        arguments.append(argument)
        length += its_length
    return (source.choice(NAMES), arguments), length


def value_of(tree: Tree, tokens: list[str]) -> int:
    """The value of a tree; its tokens are written on the way."""
    if isinstance(tree, int):
        tokens.append(str(tree))
        return tree
    tokens.append(tree[0])
    values = [value_of(argument, tokens) for argument in tree[1]]
    tokens.append("]")
    return OPERATORS[tree[0]](values)


def by_rejection(num: int, seed: int) -> list[tuple[list[str], int]]:
    source, found = random.Random(seed), []
    while len(found) < num:
        tree, length = grow(1, source)
        if LOW <= length <= HIGH:
            tokens: list[str] = []
            found.append((tokens, value_of(tree, tokens)))
    return found


def exactly(num: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    return TASKS["listops"].sample(num, (LOW, HIGH), torch.Generator().manual_seed(seed))


def milliseconds_each(draw: Callable[[int, int], object], num: int, seed: int) -> float:
    start = time.perf_counter()
    draw(num, seed)
    return (time.perf_counter() - start) / num * 1000


def main() -> None:
    torch.set_num_threads(1)
    print(__doc__.splitlines()[0])
    ours, rejection = [], []
    for repeat in range(REPEATS):
        ours.append(milliseconds_each(exactly, NUM_OURS, repeat))
        rejection.append(milliseconds_each(by_rejection, NUM_REJECTION, repeat))
        print(f"repeat {repeat + 1}: exact {ours[-1]:.3f} ms, rejection {rejection[-1]:.2f} ms a sample")
    ratio = statistics.median(rejection) / statistics.median(ours)
    verdict = "holds" if ratio >= CLAIMED_RATIO else "DOES NOT HOLD"
    print(
        f"medians: exact {statistics.median(ours):.3f} ms, rejection {statistics.median(rejection):.2f} ms a sample"
    )
    print(f"ratio {ratio:.0f}, claimed at least {CLAIMED_RATIO}: {verdict}")
    raise SystemExit(0 if ratio >= CLAIMED_RATIO else 1)


if __name__ == "__main__":
    main()
