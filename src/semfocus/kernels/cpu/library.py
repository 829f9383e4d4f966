"""Finding and calling the compiled kernels: a shared library with a C interface, loaded with ctypes."""

import ctypes
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from semfocus.kernels.cpu.layout import (
    INSTRUCTION_SETS,
    WORDS,
    FusedBlock,
    Pass,
    PassKind,
    Problem,
    differences,
    read_table,
)

#: written by setup.py where compiling failed: the reason
NOT_COMPILED = Path(__file__).with_name("not_compiled.txt")


class Library:
    """The loaded kernels and the instruction set they use."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        if not hasattr(library, "semfocus_layout"):
            raise ImportError(f"{path} was compiled from other sources; install the package again")
        table = read_table(library)
        differing = differences(table)
        if differing:
            raise ImportError(
                f"{path} was compiled from other sources ({'; '.join(differing[:3])}); install the package again"
            )
        #: the number of each word, by the kind of words
        self.numbers = {group: {word: value for word, (value, _) in table[group].items()} for group in WORDS}
        self._forward = _function(library.semfocus_forward, Problem, ctypes.c_int32)
        self._backward = _function(library.semfocus_backward, Problem, ctypes.c_int32)
        self._pass = _function(library.semfocus_pass, Pass, None, 1)
        self._block = _function(library.semfocus_block, FusedBlock, ctypes.c_int32, 1)
        self._block_memory = _function(library.semfocus_block_memory, FusedBlock, ctypes.c_int64)
        self.path = path
        self.version = int(library.semfocus_kernel_version())
        self.best = INSTRUCTION_SETS[library.semfocus_instruction_set()]
        self.instruction_set = _wanted_instruction_set(self.best)
        self.has_openmp = hasattr(library, "omp_get_max_threads")  # found through what it is linked with

    def forward(self, problem: Problem, is_double: bool) -> bool:
        """Whether a key that was passed over might have a score that is not finite."""
        outcome = self._forward(ctypes.byref(problem), self._set(), is_double)
        return self._checked(outcome) == self.numbers["Outcome"]["maybe_not_finite"]

    def backward(self, problem: Problem, is_double: bool) -> None:
        self._checked(self._backward(ctypes.byref(problem), self._set(), is_double))

    def run_pass(self, values: Pass, is_double: bool, kind: PassKind) -> None:
        self._pass(ctypes.byref(values), self._set(), is_double, self.numbers["PassKind"][kind])

    def block_memory(self, block: FusedBlock, is_double: bool) -> int:
        """Bytes of the activations that the backward pass of a block needs."""
        return int(self._block_memory(ctypes.byref(block), self._set(), is_double))

    def run_block(self, block: FusedBlock, is_double: bool, is_backward: bool) -> None:
        self._checked(self._block(ctypes.byref(block), self._set(), is_double, is_backward))

    def _set(self) -> int:
        return self.numbers["InstructionSet"][self.instruction_set]

    def _checked(self, outcome: int) -> int:
        if outcome == self.numbers["Outcome"]["out_of_memory"]:
            raise MemoryError("the attention kernels could not get their working memory")
        return outcome


def _function(
    function: Any, struct: type[ctypes.Structure], result: type[Any] | None, more_numbers: int = 0
) -> Any:
    """A function of a struct, the instruction set, whether numbers are doubles, and as many numbers more."""
    function.argtypes = [ctypes.POINTER(struct), *(ctypes.c_int32,) * (2 + more_numbers)]
    function.restype = result
    return function


def _wanted_instruction_set(best: str) -> str:
    """SEMFOCUS_INSTRUCTION_SET, if this machine has it, else the best."""
    wanted = os.environ.get("SEMFOCUS_INSTRUCTION_SET", best)
    possible = possible_instruction_sets(best)
    if wanted not in possible:
        raise ValueError(
            f"SEMFOCUS_INSTRUCTION_SET={wanted!r} is not possible here; possible: {', '.join(possible)}"
        )
    return wanted


def possible_instruction_sets(best: str) -> tuple[str, ...]:
    """Those that a machine has whose best one this is."""
    return INSTRUCTION_SETS[: INSTRUCTION_SETS.index(best) + 1]


_switched_off: ContextVar[bool] = ContextVar("switched_off", default=False)


@contextmanager
def without_kernels() -> Iterator[None]:
    """While open, everything runs on PyTorch's own operations, which can be differentiated twice."""
    token = _switched_off.set(True)
    try:
        yield
    finally:
        _switched_off.reset(token)


def load_library() -> Library | None:
    """The compiled kernels, or None where they are not compiled or not wanted.

    SEMFOCUS_KERNELS names another build of them, e.g. one with a sanitizer; `none` switches them off.
    """
    return None if _switched_off.get() else compiled_library()


@lru_cache(maxsize=1)
def compiled_library() -> Library | None:
    """The kernels, switched off or not: a backward pass runs where its forward pass did."""
    named = os.environ.get("SEMFOCUS_KERNELS")
    if named == "none":
        return None
    folder = Path(__file__).parent
    paths = [Path(named)] if named else [folder / f"_native{suffix}" for suffix in EXTENSION_SUFFIXES]
    path = next((each for each in paths if each.exists()), None)
    if path is None and named:
        raise ImportError(f"SEMFOCUS_KERNELS={named}: no such file")
    if path is None:
        warnings.warn(
            "no compiled kernels here: attention runs on PyTorch, which is slower; see `semfocus doctor`",
            stacklevel=2,
        )
    return None if path is None else Library(path)


def has_kernels() -> bool:
    """Whether compiled kernels are there and wanted."""
    return load_library() is not None


# Asked once while torch.compile traces: it can follow neither a context variable nor a loaded library.
# (torch.compiler.assume_constant_result sets the same mark, but imports the whole compiler to do so.)
has_kernels._dynamo_marked_constant = True  # type: ignore[attr-defined]


def kernels_in_use() -> str | None:
    """The instruction set of the compiled kernels, or None where there are none."""
    library = load_library()
    return None if library is None else library.instruction_set


def kernel_version() -> int | None:
    """The version of the compiled kernels, or None where there are none: it changes when bits of results may."""
    library = load_library()
    return None if library is None else library.version
