"""Claim: exact top-k attention, forward and backward, is several times faster than fused full attention on a CPU.

Prints one line a shape: milliseconds (median) of F.scaled_dot_product_attention over all keys, of two usual ways
to write top-k in PyTorch, and of ours; then the ratios. Everything is measured in one run, interleaved; run it on a
machine that does nothing else.

    python benchmarks/attention_speed.py [--threads 2] [--repeats 15]
"""

import argparse
import statistics
from collections.abc import Callable
from time import perf_counter

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus import Banded, TopK, attention
from semfocus.mechanisms import kernels_in_use

SHAPES = ((25, 40), (25, 600), (4, 2048), (1, 8192))
WIDTH, K = 64, 5


def dense_masked(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """All scores, a mask of the k best, softmax over everything."""
    scores = query @ key.mT / WIDTH**0.5
    smallest = scores.topk(K, dim=-1).values[..., -1:]
    return scores.masked_fill(scores < smallest, -torch.inf).softmax(-1) @ value


def gathered(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """The k best scores, and the values gathered for them."""
    best, indices = (query @ key.mT / WIDTH**0.5).topk(K, dim=-1)
    batch = torch.arange(len(query)).view(-1, 1, 1, 1)
    chosen = value.squeeze(1)[batch, indices]
    return (best.softmax(-1).unsqueeze(-2) @ chosen).squeeze(-2)


METHODS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "sdpa full": F.scaled_dot_product_attention,
    "dense masked": dense_masked,
    "gathered": gathered,
    "ours top_k(5)": lambda query, key, value: attention(query, key, value, TopK(K)),
    "ours banded(9)": lambda query, key, value: attention(query, key, value, Banded(9)),
}


def measure(batch: int, length: int, repeats: int) -> dict[str, float]:
    """Median milliseconds of forward and backward for each method."""
    leaves = [torch.randn(batch, 1, length, WIDTH, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(batch, 1, length, WIDTH)
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for repeat in range(repeats + 1):
        for name, method in METHODS.items():
            started = perf_counter()
            torch.autograd.grad(method(*leaves), leaves, upstream, allow_unused=True)
            if repeat:  # the first round warms up
                seconds[name].append(perf_counter() - started)
    return {name: 1e3 * statistics.median(values) for name, values in seconds.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(
        f"kernels: {kernels_in_use()}, threads: {arguments.threads}, float32, d {WIDTH}, forward + backward"
    )
    print(
        "batch length  " + "  ".join(f"{name:>14}" for name in METHODS) + "   top_k: full/ours  gathered/ours"
    )
    for batch, length in SHAPES:
        times = measure(batch, length, arguments.repeats if length > 100 else 10 * arguments.repeats)
        ours = times["ours top_k(5)"]
        print(
            f"{batch:5d} {length:6d}  "
            + "  ".join(f"{value:14.2f}" for value in times.values())
            + f"   {times['sdpa full'] / ours:16.2f}  {times['gathered'] / ours:13.2f}"
        )


if __name__ == "__main__":
    main()
