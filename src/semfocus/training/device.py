"""Where a run is computed: device, threads, numerics class, versions."""

import ctypes
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy
import torch

import semfocus
from semfocus.mechanisms import kernel_version, kernels_in_use
from semfocus.runs.record import with_kernel_version


def resolve_device(name: str) -> torch.device:
    """`auto` is CUDA where present, then MPS, then the CPU."""
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"device {name!r} cannot be used here: {reason}") from None
    return device


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Compute with this many threads, then as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def numerics_class(device: torch.device) -> dict[str, Any]:
    """Inside one class the same spec gives the same bits; across classes, sums may round differently."""
    return {
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "kernels": kernels_in_use() or "none",
        "kernel_version": kernel_version(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
    }


def same_numerics(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two numerics classes are one."""
    return with_kernel_version(one) == with_kernel_version(other)


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Let this process keep what a training step frees for the next one.

    The C library would return it to the system after every step, which then hands it out page by page again. Where
    the C library is not GNU's, nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    trim_threshold, mmap_threshold = -1, -3
    mallopt(trim_threshold, 2**30)
    mallopt(mmap_threshold, 2**25)  # the largest that is taken


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Plain values for env.json and the record."""
    return {
        "semfocus": semfocus.__version__,
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "host": platform.node(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "numerics": numerics_class(device),
    }
