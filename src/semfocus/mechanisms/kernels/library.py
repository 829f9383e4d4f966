"""Finding and calling the compiled kernels: a shared library with a C interface, loaded with ctypes."""

import ctypes
import os
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

INSTRUCTION_SETS = ("portable", "avx2", "avx512")


class Problem(ctypes.Structure):
    """The struct of source/problem.h, field by field."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("query", "key", "value", "output", "indices", "weights")),
        *(
            (name, ctypes.c_void_p)
            for name in ("grad_output", "grad_query", "grad_key", "grad_value", "mask")
        ),
        *((name, ctypes.c_int64) for name in ("mask_outer", "mask_inner", "mask_query", "mask_key")),
        *(
            (name, ctypes.c_int64)
            for name in ("batch", "inner", "queries", "keys", "width", "value_width", "kept")
        ),
        *((name, ctypes.c_double) for name in ("scale", "dropout")),
        *((name, ctypes.c_uint64) for name in ("dropout_seed", "selection_seed")),
        *((name, ctypes.c_int32) for name in ("causal", "mode", "size", "threads")),
    )


class Library:
    """The loaded kernels and the instruction set they use."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        self._forward, self._backward = library.semfocus_forward, library.semfocus_backward
        for function in (self._forward, self._backward):
            function.argtypes = [ctypes.POINTER(Problem), ctypes.c_int32, ctypes.c_int32]
            function.restype = None
        library.semfocus_problem_size.restype = ctypes.c_int64
        if library.semfocus_problem_size() != ctypes.sizeof(Problem):
            raise ImportError(f"{path} was compiled from other sources; install the package again")
        self.path = path
        self.best = INSTRUCTION_SETS[library.semfocus_instruction_set()]
        self.instruction_set = _wanted_instruction_set(self.best)

    def forward(self, problem: Problem, is_double: bool) -> None:
        self._forward(ctypes.byref(problem), INSTRUCTION_SETS.index(self.instruction_set), int(is_double))

    def backward(self, problem: Problem, is_double: bool) -> None:
        self._backward(ctypes.byref(problem), INSTRUCTION_SETS.index(self.instruction_set), int(is_double))


def _wanted_instruction_set(best: str) -> str:
    """SEMFOCUS_INSTRUCTION_SET, if this machine has it, else the best."""
    wanted = os.environ.get("SEMFOCUS_INSTRUCTION_SET", best)
    if wanted not in INSTRUCTION_SETS[: INSTRUCTION_SETS.index(best) + 1]:
        raise ValueError(
            f"SEMFOCUS_INSTRUCTION_SET={wanted!r} is not possible here; "
            f"possible: {', '.join(INSTRUCTION_SETS[: INSTRUCTION_SETS.index(best) + 1])}"
        )
    return wanted


@lru_cache(maxsize=1)
def load_library() -> Library | None:
    """The compiled kernels, or None where the package was installed without a C++ compiler.

    SEMFOCUS_KERNELS names another build of them, e.g. one with a sanitizer.
    """
    named = os.environ.get("SEMFOCUS_KERNELS")
    folder = Path(__file__).parent
    paths = [Path(named)] if named else [folder / f"_native{suffix}" for suffix in EXTENSION_SUFFIXES]
    path = next((each for each in paths if each.exists()), None)
    return None if path is None else Library(path)


def kernels_in_use() -> str | None:
    """The instruction set of the compiled kernels, or None where there are none."""
    library = load_library()
    return None if library is None else library.instruction_set
