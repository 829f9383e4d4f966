"""Claim: banded and block-local attention are at least 20 times faster than fused attention with the same mask.

Forward and backward of banded(9) and block_local(9), batch 4, length 2048, one head of width 64, against
F.scaled_dot_product_attention with the boolean mask that keeps the same keys, made before the clock starts.

    python benchmarks/masked_speed.py [--repeats 15] [--threads 1 2]
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from semfocus import Banded, BlockLocal, attention
from semfocus.mechanisms import InputAgnostic
from semfocus.training.device import limited_threads
from timing import benchmark_parser, interleaved, print_claim, print_table, started

WIDTH, CLAIMED = 64, 20
PATTERNS = (Banded(9), BlockLocal(9))


def kept_keys(pattern: InputAgnostic, length: int) -> Tensor:
    """The boolean mask (length, length) of a pattern of positions."""
    allowed = torch.ones(length, length, dtype=torch.bool)
    return pattern.keep(torch.zeros(length, length), allowed)


def measure(batch: int, length: int, repeats: int) -> dict[str, float]:
    """Median milliseconds of forward and backward of each pattern, ours and masked."""
    leaves = [torch.randn(batch, 1, length, WIDTH, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(batch, 1, length, WIDTH)

    def both_ways(attend: Callable[[], Tensor]) -> Callable[[], object]:
        return lambda: torch.autograd.grad(attend(), leaves, upstream)

    def ours(pattern: InputAgnostic) -> Callable[[], object]:
        return both_ways(lambda: attention(*leaves, pattern))

    def masked(pattern: InputAgnostic) -> Callable[[], object]:
        mask = kept_keys(pattern, length)
        return both_ways(lambda: F.scaled_dot_product_attention(*leaves, attn_mask=mask))

    methods = {f"ours {pattern}": ours(pattern) for pattern in PATTERNS}
    methods |= {f"SDPA, mask of {pattern}": masked(pattern) for pattern in PATTERNS}
    methods["SDPA full"] = both_ways(lambda: F.scaled_dot_product_attention(*leaves))
    return interleaved(methods, repeats)


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=15)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = started(parser, words)
    batch, length = (1, 64) if arguments.smoke else (4, 2048)
    threads, repeats = ([1], 1) if arguments.smoke else (arguments.threads, arguments.repeats)
    for each in threads:
        with limited_threads(each):
            times = measure(batch, length, repeats)
        print(f"batch {batch}, length {length}, forward+backward, threads: {each}, milliseconds")
        print_table(tuple(times), [tuple(times.values())])
        for pattern in PATTERNS:
            ratio = times[f"SDPA, mask of {pattern}"] / times[f"ours {pattern}"]
            print_claim(f"SDPA masked / ours, {pattern}, threads {each}", ratio, at_least=CLAIMED)


if __name__ == "__main__":
    main()
