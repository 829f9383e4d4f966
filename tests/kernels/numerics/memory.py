"""By how much the memory of this process grows over steps of training.

python -m tests.kernels.numerics.memory plain 10000        # steps; or captured
"""

import ctypes
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from json import dumps, loads
from pathlib import Path

import torch

from semfocus.mechanisms import TopK, capture
from tests.kernels.numerics.steady import model_of
from tests.portable import ROOT

Step = Callable[[], object]


class _Mallinfo(ctypes.Structure):
    """What the C library says of its memory: `struct mallinfo2` of GNU's."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


@dataclass(frozen=True)
class Memory:
    """Of this process: bytes that it has, bytes in use (0 where the C library does not tell), objects of Python.

    What is kept shows first in the last two: the first grows only when there is no room left in what it has.
    """

    resident: int
    used: int
    objects: int

    @classmethod
    def now(cls) -> "Memory":
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        mallinfo = getattr(ctypes.CDLL(None), "mallinfo2", None)
        used = 0
        if mallinfo is not None:
            mallinfo.restype = _Mallinfo
            found = mallinfo()
            used = found.uordblks + found.hblkhd
        return cls(pages * os.sysconf("SC_PAGE_SIZE"), used, sys.getallocatedblocks())

    def __sub__(self, other: "Memory") -> "Memory":
        return Memory(self.resident - other.resident, self.used - other.used, self.objects - other.objects)

    def problems(self, steps: int) -> list[str]:
        """Of growth over so many steps: a float that each of 10,000 steps kept would be too much."""
        most = {"resident": 2**20, "used": 2**16, "objects": 500 + steps // 10}
        found = {name: grown for name, grown in asdict(self).items() if grown > most[name]}
        return [f"{name}: {grown:,} more after {steps:,} steps" for name, grown in found.items()]


def growth(step: Step, number: int, warm: int) -> Memory:
    """Over so many steps, after some that fill caches."""
    for _ in range(warm):
        step()
    before = Memory.now()
    for _ in range(number):
        step()
    return Memory.now() - before


def training_step(captured: bool) -> Step:
    """A step of training of a small model; `captured`: in an open `capture`, which is closed after it."""
    model = model_of(TopK(3), 32)
    optimiser = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    generator = torch.Generator().manual_seed(0)

    def step() -> None:
        length = int(torch.randint(8, 33, (), generator=generator))
        tokens = torch.randint(4, (8, length), generator=generator)
        if captured:
            with capture(model) as traces:
                logits = model(tokens, generator=generator)
            assert len(traces) == 2
        else:
            logits = model(tokens, generator=generator)
        optimiser.zero_grad()
        logits.square().mean().backward()
        optimiser.step()

    return step


def growth_of(name: str, number: int) -> Memory:
    """Of training in a process of its own."""
    words = [sys.executable, "-m", "tests.kernels.numerics.memory", name, str(number)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    return Memory(**loads(done.stdout))


if __name__ == "__main__":
    torch.set_num_threads(1)
    found = growth(training_step(sys.argv[1] == "captured"), int(sys.argv[2]), warm=300)
    print(dumps(asdict(found)))
