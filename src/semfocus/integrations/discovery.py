"""Finding the attention modules of a model by their code, and refusing a model with one that cannot be switched."""

import dis
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Literal

import torch
from torch import nn

from semfocus.integrations.torch.modules import keeps_own_forward
from semfocus.integrations.torch.multihead import MultiheadAttention
from semfocus.mechanisms import AttentionPoint
from semfocus.words import count_of

#: stands for the operator among the names
MATRIX_PRODUCT = "@"
#: libraries whose functions are known by their names and not read
_LIBRARIES = ("torch", "transformers", "numpy", "einops")
#: the base class of all models of transformers, whose methods are about loading and saving
_MODEL_CLASS = "transformers.modeling_utils"


def names_of_forward(module: nn.Module) -> frozenset[str] | None:
    """Names in `forward`, in methods and functions of the user that it calls, and "name=" for each keyword.

    None where `forward` is no Python function.
    """
    own = vars(module).get("forward")
    if own is not None:
        return _names(_unwrapped(own), type(module))
    return _names_of_class(type(module))  # type: ignore[arg-type]  # a class of modules has a hash


def _unwrapped(function: Any) -> Any:
    """What is inside wrappers, such as those of accelerate: partial functions around methods around functions."""
    while True:
        inner = inspect.unwrap(function)
        inner = getattr(inner, "__func__", None) or getattr(inner, "func", inner)
        if inner is function:
            return function
        function = inner


@cache
def _names_of_class(cls: type) -> frozenset[str] | None:
    return _names(inspect.unwrap(inspect.getattr_static(cls, "forward")), cls)


def _names(forward: Any, cls: type) -> frozenset[str] | None:
    if not isinstance(forward, FunctionType):
        return None
    pending: list[FunctionType] = [forward]
    seen: set[FunctionType] = set()
    found: set[str] = set()
    while pending:
        function = pending.pop()
        if function in seen:
            continue
        seen.add(function)
        names = set(_mentioned(function.__code__))
        values = dict(_values(function, names))
        found |= names | {value.__name__ for value in values.values() if hasattr(value, "__name__")}
        pending += _methods(cls, names)
        if not cls.__module__.startswith("transformers."):
            pending += [value for value in values.values() if _is_of_user(value)]
    return frozenset(found)


def _mentioned(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _mentioned(constant)
        elif isinstance(constant, tuple) and all(isinstance(each, str) for each in constant):
            yield from (f"{each}=" for each in constant)
    if any(each.argrepr in ("@", "@=") or "MATRIX" in each.opname for each in dis.get_instructions(code)):
        yield MATRIX_PRODUCT


def _values(function: FunctionType, names: set[str]) -> Iterator[tuple[str, Any]]:
    """What the names of a function stand for outside of it, and in modules of the user that it names."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    around = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    for name in names:
        value = around.get(name, function.__globals__.get(name))
        yield name, value
        if isinstance(value, ModuleType) and not _is_library(value.__name__):
            yield from ((f"{name}.{each}", vars(value).get(each)) for each in names)


def _methods(cls: type, names: set[str]) -> list[Any]:
    """Methods and properties of these names; those of the class itself, and of its bases if it asks for them."""
    found = []
    for name in names:
        for each in cls.__mro__:
            if each is nn.Module or each.__module__ == _MODEL_CLASS:
                break
            member = vars(each).get(name)
            if member is not None:
                function = getattr(member, "fget", None) or getattr(member, "__func__", member)
                found.append(inspect.unwrap(function) if callable(function) else function)
                if "super" not in names:
                    break
    return [each for each in found if isinstance(each, FunctionType)]


def _is_of_user(value: Any) -> bool:
    return isinstance(value, FunctionType) and not _is_library(value.__module__ or "")


def _is_library(name: str) -> bool:
    return name.partition(".")[0] in _LIBRARIES


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018  (an empty cell raises)
    except ValueError:
        return False
    return True


Origin = Literal["torch", "hugging_face"]

_INTERFACE = "ALL_ATTENTION_FUNCTIONS"
_FUNCTIONS = {
    "scaled_dot_product_attention",
    "multi_head_attention_forward",
    "flex_attention",
    "flash_attn_func",
    "flash_attn_varlen_func",
    "_flash_attention_forward",
    "memory_efficient_attention",
}
_PRODUCTS = {MATRIX_PRODUCT, "matmul", "bmm", "baddbmm", "mm", "einsum"}
_TRANSPOSED = {
    "transpose",
    "permute",
    "swapaxes",
    "swapdims",
    "movedim",
    "moveaxis",
    "mT",
    "T",
    "t",
    "rearrange",
}
_NAME = re.compile(r"attention|attn", re.IGNORECASE)
_CROSS = re.compile(r"cross_?att|encoder_attn|enc_?dec_?att", re.IGNORECASE)


_CALLS, _COMPUTES = "calls an attention function by itself", "computes its attention by itself"


@dataclass(frozen=True)
class Found:
    """An attention module that can be switched; `is_cross`: from one sequence to another."""

    name: str
    module: nn.Module
    kind: Origin
    is_cross: bool


def find_attentions(model: nn.Module) -> list[Found]:
    """All of them in the order of `model.named_modules()`; ValueError if there is none, or one of an unknown kind."""
    found, refused = [], []
    modules = dict(model.named_modules())
    for name, module in modules.items():
        kind = _kind_of(module)
        reason = _refusal_of(module) if kind is None else _unready(module, kind)
        if reason is not None:
            refused.append((f"{name or 'the model itself'} ({_place(module)})", reason))
        elif kind is not None:
            parent = modules.get(name.rpartition(".")[0])
            found.append(Found(name, module, kind, _is_cross(name, module, parent)))
    if refused:
        (place, reason), *others = refused
        more = f", and {count_of(len(others), 'more module')} cannot be switched" if others else ""
        part = "; semfocus.apply(part, ...) switches a part and leaves the rest as it is" if found else ""
        raise ValueError(
            f"{type(model).__name__} cannot be switched: {place} {reason}{more}{_advice(reason)}{part}"
        )
    if not found:
        raise ValueError(
            f"{type(model).__name__} has no attention that can be switched: neither nn.MultiheadAttention "
            "nor one of transformers that goes through its attention interface; `with semfocus.sdpa(pattern):` serves "
            "calls of F.scaled_dot_product_attention"
        )
    return found


def _place(module: nn.Module) -> str:
    """The class of a module, and the line where its forward begins."""
    name = type(module).__name__
    forward = vars(module).get("forward", inspect.getattr_static(type(module), "forward"))
    code = getattr(_unwrapped(forward), "__code__", None)
    return name if code is None else f"{name}, {Path(code.co_filename).name}:{code.co_firstlineno}"


def _advice(reason: str) -> str:
    if reason == _CALLS:
        return ". `with semfocus.sdpa(pattern):` serves calls of F.scaled_dot_product_attention"
    if reason == _COMPUTES:
        return ". Its code would have to call semfocus.attention(query, key, value, pattern) there"
    return ""


def _kind_of(module: nn.Module) -> Origin | None:
    if type(module) in (nn.MultiheadAttention, MultiheadAttention):
        return "torch"
    return "hugging_face" if _INTERFACE in (names_of_forward(module) or ()) else None


def _is_cross(name: str, module: nn.Module, parent: nn.Module | None) -> bool:
    """By the names that decoders give to it; a call that shows it is refused later."""
    *_, before, leaf = ["", *name.split(".")]
    if isinstance(parent, nn.TransformerDecoderLayer):
        return leaf == "multihead_attn"
    names = (leaf, before, type(module).__name__)
    return bool(getattr(module, "is_cross_attention", False)) or any(map(_CROSS.search, names))


def _unready(module: nn.Module, kind: Origin) -> str | None:
    """What a module of a known kind lacks."""
    if kind == "hugging_face" and not hasattr(getattr(module, "config", None), "_attn_implementation"):
        return "keeps no config that says which attention it uses"
    if kind == "torch" and "forward" in vars(module) and not keeps_own_forward(module):
        return "was given another forward, which a switch would not reach"
    return None


def _refusal_of(module: nn.Module) -> str | None:
    """Why a module that is none of the known kinds still looks like attention."""
    if isinstance(module, AttentionPoint):
        return "is attention of ours with a pattern of its own: give it there"
    if isinstance(module, nn.MultiheadAttention):
        return "is a subclass of nn.MultiheadAttention, which may compute something else"
    if isinstance(module, torch.jit.ScriptModule):
        return "is compiled by TorchScript, with attention inside" if _scripted_attention(module) else None
    cls = type(module)
    if cls.__module__.startswith("torch.") and "forward" not in vars(module):
        return None
    names = names_of_forward(module)
    if names is None:
        return "has no code that could be read" if _NAME.search(cls.__name__) else None
    if not names.isdisjoint(_FUNCTIONS):
        return _CALLS
    if "softmax" not in names and not any(isinstance(each, nn.Softmax) for each in module.children()):
        return None
    named = _NAME.search(cls.__name__) is not None
    if cls.__module__.startswith("transformers."):
        computes = named  # routers of experts have a softmax too
    else:
        products = names & _PRODUCTS  # routers of experts have one, too
        transposes = not names.isdisjoint(_TRANSPOSED) or ("einsum" in products and len(products) > 1)
        computes = bool(products) and (named or transposes)
    return _COMPUTES if computes else None


def _scripted_attention(module: torch.jit.ScriptModule) -> bool:
    try:
        graph = str(module.inlined_graph)
    except (AttributeError, RuntimeError):
        return False
    return "aten::softmax" in graph or "attention" in graph
