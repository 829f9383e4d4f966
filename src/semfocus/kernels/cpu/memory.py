"""Asking the system for large pages under fresh memory."""

import ctypes
import sys
from collections.abc import Callable
from functools import lru_cache

from torch import Tensor

_LARGE_PAGE = 2**21
_MADV_HUGEPAGE = 14


def in_large_pages(tensor: Tensor) -> Tensor:
    """The same tensor, its memory asked for in pages of 2 MiB where they fit whole, before it is first written.

    The system hands out fresh memory page by page at the first write: 4 KiB at a time, that costs as much as the
    kernels at length 600. Only a wish: where there are no such pages, nothing happens.
    """
    storage = tensor.untyped_storage()
    num_bytes = storage.nbytes()
    if num_bytes < _LARGE_PAGE:
        return tensor
    address = storage.data_ptr()
    first = -(-address // _LARGE_PAGE) * _LARGE_PAGE
    end = (address + num_bytes) // _LARGE_PAGE * _LARGE_PAGE
    advise = _advise()
    if first < end and advise is not None:
        advise(first, end - first, _MADV_HUGEPAGE)
    return tensor


@lru_cache(maxsize=1)
def _advise() -> Callable[[int, int, int], int] | None:
    """The system's madvise; None outside Linux, where the number of the advice would mean something else."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        advise = ctypes.CDLL(None).madvise
    except (AttributeError, OSError):
        return None
    advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    advise.restype = ctypes.c_int
    return advise
