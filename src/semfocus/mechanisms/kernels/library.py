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

INSTRUCTION_SETS = ("portable", "avx2", "avx512")
#: written by setup.py where compiling failed: the reason
NOT_COMPILED = Path(__file__).with_name("not_compiled.txt")


class Rows(ctypes.Structure):
    """Numbers as (outer, inner, row, feature): the address and the strides of the first three, in elements."""

    _fields_ = (("data", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("outer", "inner", "row")))


class Problem(ctypes.Structure):
    """The struct of source/problem.h, field by field."""

    _fields_ = (
        *((name, Rows) for name in ("query", "key", "value", "output")),
        *((name, Rows) for name in ("grad_output", "grad_query", "grad_key", "grad_value")),
        *((name, ctypes.c_void_p) for name in ("indices", "weights", "mask")),
        *((name, ctypes.c_int64) for name in ("mask_outer", "mask_inner", "mask_query", "mask_key")),
        *(
            (name, ctypes.c_int64)
            for name in ("batch", "inner", "queries", "keys", "width", "value_width", "kept")
        ),
        ("first_row", ctypes.c_int64),
        *((name, ctypes.c_double) for name in ("scale", "dropout")),
        *((name, ctypes.c_uint64) for name in ("dropout_seed", "selection_seed")),
        *((name, ctypes.c_int32) for name in ("causal", "mode", "size", "threads")),
    )


class Pass(ctypes.Structure):
    """The struct of source/passes.h, field by field."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("input", "other", "bias", "sum", "normed", "factors")),
        *((name, ctypes.c_void_p) for name in ("grad_sum", "grad_normed", "grad_input", "grad_other")),
        *((name, ctypes.c_int64) for name in ("rows", "width")),
        *((name, ctypes.c_double) for name in ("epsilon", "dropout")),
        ("seed", ctypes.c_uint64),
        ("threads", ctypes.c_int32),
    )


class Linear(ctypes.Structure):
    """A linear map and where its gradients go."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("weight", "bias", "grad_weight", "grad_bias"))


class Block(ctypes.Structure):
    """The struct of source/block.h, field by field."""

    _fields_ = (
        ("attention", Problem),
        *((name, Linear) for name in ("query", "key", "value", "out", "expand", "contract")),
        *((name, ctypes.c_void_p) for name in ("input", "output", "activations")),
        *((name, ctypes.c_void_p) for name in ("grad_output", "grad_input")),
        *((name, ctypes.c_int64) for name in ("width", "mixed_width", "hidden_width")),
        *((name, ctypes.c_double) for name in ("dropout", "attention_epsilon", "mlp_epsilon")),
        *((name, ctypes.c_uint64) for name in ("out_seed", "hidden_seed", "output_seed")),
    )


_STRUCT_SIZES = (ctypes.sizeof(Problem) * 65536 + ctypes.sizeof(Pass)) * 65536 + ctypes.sizeof(Block)


class Library:
    """The loaded kernels and the instruction set they use."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        if not hasattr(library, "semfocus_kernel_version"):
            raise ImportError(f"{path} was compiled from other sources; install the package again")
        self._forward, self._backward = library.semfocus_forward, library.semfocus_backward
        for function in (self._forward, self._backward):
            function.argtypes = [ctypes.POINTER(Problem), ctypes.c_int32, ctypes.c_int32]
            function.restype = ctypes.c_int32
        self._pass = library.semfocus_pass
        self._pass.argtypes = [ctypes.POINTER(Pass), ctypes.c_int32, ctypes.c_int32, ctypes.c_int32]
        self._pass.restype = None
        self._block = library.semfocus_block
        self._block.argtypes = [ctypes.POINTER(Block), ctypes.c_int32, ctypes.c_int32, ctypes.c_int32]
        self._block.restype = ctypes.c_int32
        self._block_memory = library.semfocus_block_memory
        self._block_memory.argtypes = self._block.argtypes[:3]
        self._block_memory.restype = ctypes.c_int64
        library.semfocus_struct_sizes.restype = ctypes.c_int64
        if library.semfocus_struct_sizes() != _STRUCT_SIZES:
            raise ImportError(f"{path} was compiled from other sources; install the package again")
        self.path = path
        self.version = int(library.semfocus_kernel_version())
        self.best = INSTRUCTION_SETS[library.semfocus_instruction_set()]
        self.instruction_set = _wanted_instruction_set(self.best)
        self.has_openmp = hasattr(library, "omp_get_max_threads")  # found through what it is linked with

    def forward(self, problem: Problem, is_double: bool) -> bool:
        """Whether a key that was passed over might have a score that is not finite."""
        outcome = self._forward(
            ctypes.byref(problem), INSTRUCTION_SETS.index(self.instruction_set), is_double
        )
        return self._checked(outcome) == 1

    def backward(self, problem: Problem, is_double: bool) -> None:
        self._checked(
            self._backward(ctypes.byref(problem), INSTRUCTION_SETS.index(self.instruction_set), is_double)
        )

    def run_pass(self, values: Pass, is_double: bool, kind: int) -> None:
        self._pass(ctypes.byref(values), INSTRUCTION_SETS.index(self.instruction_set), is_double, kind)

    def block_memory(self, block: Block, is_double: bool) -> int:
        """Bytes of the activations that the backward pass of a block needs."""
        set_index = INSTRUCTION_SETS.index(self.instruction_set)
        return int(self._block_memory(ctypes.byref(block), set_index, is_double))

    def run_block(self, block: Block, is_double: bool, is_backward: bool) -> None:
        set_index = INSTRUCTION_SETS.index(self.instruction_set)
        self._checked(self._block(ctypes.byref(block), set_index, is_double, is_backward))

    def _checked(self, outcome: int) -> int:
        if outcome == 2:
            raise MemoryError("the attention kernels could not get their working memory")
        return outcome


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
