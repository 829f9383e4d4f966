"""Claim: exact top-k attention is several times faster than fused full attention on a CPU, and never slower.

Forward and backward with k = 5, one head of width 64, F.scaled_dot_product_attention over all keys takes at least as
long as ours at length 40, 4 times as long at 600 and 5.5 times at 2048 and 8192; top-k written in PyTorch with
gathered values takes at least 4 times as long at 600. With two threads, the same within 20 %. The script also
sweeps lengths, numbers of kept keys and threads. Forward alone is measured as in inference, without gradients.

    python benchmarks/attention_speed.py [--repeats 9] [--threads 1 2]
"""

from collections.abc import Callable, Sequence

import torch

from attention_methods import Method, available_methods
from semfocus.training.device import limited_threads
from timing import (
    add_output,
    benchmark_parser,
    interleaved,
    output_folder,
    print_claim,
    print_table,
    started,
    write_csv,
)

WIDTH, K = 64, 5
#: (batch, length), and how much longer full attention takes there, as claimed
CLAIMED = {(25, 40): 1.0, (25, 600): 4.0, (4, 2048): 5.5, (1, 8192): 5.5}
CLAIMED_GATHERED = {(25, 600): 4.0}
SHAPES = ((25, 40), (25, 160), (25, 600), (8, 1024), (4, 2048), (2, 4096), (1, 8192))
SHAPES_OF_OTHER_K, OTHER_K = ((25, 600), (4, 2048)), (1, 16, 64)
SMOKE_SHAPES = ((2, 64), (2, 96))
MOST_BYTES = 3 * 10**9
#: the path for machines without the kernels is slow on a CPU: seconds a call beyond this length
LONGEST = {"ours top_k, torch": 600}
HEADER = ("method", "batch", "length", "k", "threads", "direction", "median milliseconds", "repeats")

Row = tuple[str, int, int, int | None, int, str, float, int]


def measure(
    methods: dict[str, Method], shape: tuple[int, int], k: int, threads: int, direction: str, repeats: int
) -> list[Row]:
    """One row a method."""
    batch, length = shape
    leaves = [torch.randn(batch, 1, length, WIDTH, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(batch, 1, length, WIDTH)

    def call(method: Method) -> Callable[[], object]:
        attend = method.build(k)
        if direction == "forward":
            return torch.no_grad()(lambda: attend(*leaves))
        return lambda: torch.autograd.grad(attend(*leaves), leaves, upstream)

    chosen = {name: method for name, method in methods.items() if fits(name, method, shape)}
    with limited_threads(threads):
        times = interleaved({name: call(method) for name, method in chosen.items()}, repeats)
    return [
        (name, batch, length, k if methods[name].uses_k else None, threads, direction, time, repeats)
        for name, time in times.items()
    ]


def fits(name: str, method: Method, shape: tuple[int, int]) -> bool:
    """Whether a method's matrices fit the memory; if not, a line says so."""
    if shape[1] > LONGEST.get(name, shape[1]):
        return False
    needed = method.bytes_needed(*shape)
    if needed > MOST_BYTES:
        print(f"without {name} at batch, length {shape}: needs about {needed / 1e9:.1f} GB")
    return needed <= MOST_BYTES


def print_rows(rows: list[Row], threads: int, direction: str) -> None:
    """Shapes downwards, methods to the right; full attention, which has no k, stands beside the usual one."""
    here = [row for row in rows if row[4:6] == (threads, direction)]
    names = list(dict.fromkeys(row[0] for row in here))
    cells: dict[tuple[int, int, int], dict[str, float]] = {}
    for name, batch, length, k, _, _, time, _ in here:
        cells.setdefault((batch, length, K if k is None else k), {})[name] = time
    print(f"{direction}, threads: {threads}, milliseconds")
    table = [(*place, *(times.get(name) for name in names)) for place, times in cells.items()]
    print_table(("batch", "length", "k", *names), table)


def print_claims(rows: list[Row], threads: Sequence[int]) -> None:
    """The ratios that are claimed, for each number of threads."""
    for each in threads:
        times = {
            (row[0], row[1:3]): row[6]
            for row in rows
            if row[3] in (K, None) and row[4:6] == (each, "forward+backward")
        }
        for method, claims in (("SDPA full", CLAIMED), ("gathered top-k", CLAIMED_GATHERED)):
            for shape, target in claims.items():
                if (method, shape) in times:
                    ratio = times[method, shape] / times["ours top_k", shape]
                    what = f"{method} / ours top_k({K}), batch {shape[0]}, length {shape[1]}, threads {each}"
                    print_claim(what, ratio, at_least=target if each == 1 else 0.8 * target)


def main(words: Sequence[str] | None = None) -> None:
    parser = benchmark_parser(__doc__, repeats=9)
    add_output(parser)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    arguments = started(parser, words)
    methods = available_methods()
    only_top_k = {name: method for name, method in methods.items() if method.uses_k}
    repeats, threads = (1, [1]) if arguments.smoke else (arguments.repeats, arguments.threads)
    shapes = SMOKE_SHAPES if arguments.smoke else SHAPES
    shapes_of_other_k = SMOKE_SHAPES[:1] if arguments.smoke else SHAPES_OF_OTHER_K
    rows: list[Row] = []
    for each in threads:
        for direction in ("forward", "forward+backward"):
            for shape in shapes:
                rows += measure(methods, shape, K, each, direction, repeats)
            for shape in shapes_of_other_k:
                for k in OTHER_K:
                    rows += measure(only_top_k, shape, k, each, direction, repeats)
            print_rows(rows, each, direction)
    folder = output_folder(arguments)
    if folder:
        write_csv(folder / "attention.csv", HEADER, rows)
    print_claims(rows, threads)


if __name__ == "__main__":
    main()
