"""What Python and the compiled kernels must agree about: structs, field by field, and words for numbers."""

import ctypes
from collections.abc import Mapping
from itertools import count, takewhile
from typing import Literal, get_args

Mode = Literal["top", "bottom", "random", "banded", "block_local", "all"]
PassKind = Literal["forward", "backward", "relu", "relu_backward"]
#: each can do what those before it can
INSTRUCTION_SETS = ("portable", "avx2", "avx512")


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
        ("bias", Rows),
        ("grad_scores", ctypes.c_void_p),
        *(
            (name, ctypes.c_int64)
            for name in ("batch", "inner", "queries", "keys", "width", "value_width", "kept")
        ),
        ("first_row", ctypes.c_int64),
        *((name, ctypes.c_double) for name in ("scale", "softcap", "dropout")),
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


class LinearMap(ctypes.Structure):
    """`Linear` of source/block.h: a linear map and where its gradients go."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in ("weight", "bias", "grad_weight", "grad_bias"))


class FusedBlock(ctypes.Structure):
    """`Block` of source/block.h, field by field."""

    _fields_ = (
        ("attention", Problem),
        *((name, LinearMap) for name in ("query", "key", "value", "out", "expand", "contract")),
        *((name, ctypes.c_void_p) for name in ("input", "output", "activations")),
        *((name, ctypes.c_void_p) for name in ("grad_output", "grad_input")),
        *((name, ctypes.c_int64) for name in ("width", "mixed_width", "hidden_width")),
        *((name, ctypes.c_double) for name in ("dropout", "attention_epsilon", "mlp_epsilon")),
        *((name, ctypes.c_uint64) for name in ("out_seed", "hidden_seed", "output_seed")),
    )


#: by the names that the library gives them
STRUCTS: dict[str, type[ctypes.Structure]] = {
    "Rows": Rows,
    "Problem": Problem,
    "Pass": Pass,
    "Linear": LinearMap,
    "Block": FusedBlock,
}
#: the words that are used here; their numbers are the library's to give
WORDS: dict[str, tuple[str, ...]] = {
    "Mode": get_args(Mode),
    "PassKind": get_args(PassKind),
    "InstructionSet": INSTRUCTION_SETS,
    "Outcome": ("done", "maybe_not_finite", "out_of_memory"),
}

#: by group and name: offset and size of a field, the size of a struct under "", or the number of a word
Offsets = Mapping[str, Mapping[str, tuple[int, int]]]


class LayoutEntry(ctypes.Structure):
    """A line of the library's table, the struct of source/layout.h."""

    _fields_ = (
        *((name, ctypes.c_char_p) for name in ("group", "name")),
        *((name, ctypes.c_int64) for name in ("value", "bytes")),
    )


def read_table(library: ctypes.CDLL) -> Offsets:
    """What a loaded library declares of itself."""
    library.semfocus_layout.restype = ctypes.POINTER(LayoutEntry)
    entries = library.semfocus_layout()
    table: dict[str, dict[str, tuple[int, int]]] = {}
    for entry in takewhile(lambda entry: entry.group is not None, map(entries.__getitem__, count())):
        group, name = entry.group.decode(), entry.name.decode()
        name = name if group in STRUCTS else name.lower()
        table.setdefault(group, {})[name] = entry.value, entry.bytes
    return table


def differences(table: Offsets, structs: Mapping[str, type[ctypes.Structure]] = STRUCTS) -> list[str]:
    """Where a library and this package disagree, in words; empty if they fit."""
    found = []
    for name, struct in structs.items():
        theirs, ours = table.get(name, {}), _fields_of(struct)
        for field in dict.fromkeys((*theirs, *ours)):
            if theirs.get(field) != ours.get(field):
                where = f"{name}.{field}" if field else name
                found.append(f"{where} is {_words(theirs.get(field))} there, {_words(ours.get(field))} here")
    for group, words in WORDS.items():
        if tuple(table.get(group, {})) != words:
            found.append(f"{group} is {', '.join(table.get(group, {}))} there, {', '.join(words)} here")
    return found


def _fields_of(struct: type[ctypes.Structure]) -> dict[str, tuple[int, int]]:
    places = {name: getattr(struct, name) for name, *_ in struct._fields_}
    return {"": (0, ctypes.sizeof(struct))} | {
        name: (place.offset, place.size) for name, place in places.items()
    }


def _words(place: tuple[int, int] | None) -> str:
    return "missing" if place is None else f"{place[1]} bytes at {place[0]}"
