"""One measurement for memory.py, in a process of its own: python memory_child.py METHOD LENGTH THREADS.

Prints by how many bytes the peak of resident memory grew over forward and backward of one head of width 64, inputs
and gradients included; the libraries are loaded and have run once before.
"""

import resource
import sys
from pathlib import Path

import torch
import torch.nn.functional as F

from semfocus import TopK, attention

WIDTH, K = 64, 64
METHODS = {
    "ours": lambda *inputs: attention(*inputs, TopK(K)),
    "ours, torch": lambda *inputs: attention(*inputs, TopK(K), implementation="torch"),
    "SDPA full": F.scaled_dot_product_attention,
}


def both_ways(method: str, length: int) -> None:
    leaves = [torch.randn(1, 1, length, WIDTH, requires_grad=True) for _ in range(3)]
    upstream = torch.randn(1, 1, length, WIDTH)
    torch.autograd.grad(METHODS[method](*leaves), leaves, upstream)


def peak_bytes() -> int:
    """The highest resident memory so far.

    Where there is /proc, from there: getrusage also counts what the parent process had when it started this one.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(
            line for line in status.read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM")
        )
        return 1024 * int(line.split()[1])
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak() -> None:
    """Set the peak back to what is resident now, where the system can: loading may have needed more for a moment."""
    control = Path("/proc/self/clear_refs")
    if control.exists():
        control.write_text("5", encoding="utf-8")


def main() -> None:
    method, length, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    both_ways(method, 2 * K)
    forget_peak()
    before = peak_bytes()
    both_ways(method, length)
    print(peak_bytes() - before)


if __name__ == "__main__":
    main()
