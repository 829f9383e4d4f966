"""Finding the attention modules of a model, and refusing a model with one that cannot be switched."""

import re
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn

from semfocus.integrations.code_reading import MATRIX_PRODUCT, names_of_forward
from semfocus.integrations.multihead import MultiheadAttention
from semfocus.mechanisms import AttentionPoint

Kind = Literal["torch", "hugging_face"]

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
_PRODUCTS = {MATRIX_PRODUCT, "matmul", "bmm", "baddbmm", "mm"}
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


@dataclass(frozen=True)
class Found:
    """An attention module that can be switched; `is_cross`: from one sequence to another."""

    name: str
    module: nn.Module
    kind: Kind
    is_cross: bool


def find_attentions(model: nn.Module) -> list[Found]:
    """All of them in the order of `model.named_modules()`; ValueError if there is none, or one of an unknown kind."""
    found, refused = [], []
    modules = dict(model.named_modules())
    for name, module in modules.items():
        kind = _kind_of(module)
        reason = _refusal_of(module) if kind is None else _unready(module, kind)
        if reason is not None:
            refused.append(f"{name or 'the model itself'} ({type(module).__name__}) {reason}")
        elif kind is not None:
            parent = modules.get(name.rpartition(".")[0])
            found.append(Found(name, module, kind, _is_cross(name, module, parent)))
    if refused:
        more = f", and {len(refused) - 1} more" if len(refused) > 1 else ""
        raise ValueError(f"{type(model).__name__} cannot be switched: {refused[0]}{more}")
    if not found:
        raise ValueError(
            f"{type(model).__name__} has no attention that can be switched: neither nn.MultiheadAttention "
            "nor one of transformers that goes through its attention interface"
        )
    return found


def _kind_of(module: nn.Module) -> Kind | None:
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


def _unready(module: nn.Module, kind: Kind) -> str | None:
    """What a module of a known kind lacks."""
    if kind == "hugging_face" and not hasattr(getattr(module, "config", None), "_attn_implementation"):
        return "keeps no config that says which attention it uses"
    if kind == "torch" and "forward" in vars(module):
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
        return "calls an attention function by itself"
    if "softmax" not in names and not any(isinstance(each, nn.Softmax) for each in module.children()):
        return None
    named = _NAME.search(cls.__name__) is not None
    if cls.__module__.startswith("transformers."):
        computes = named  # routers of experts have a softmax too
    else:
        multiplies = not names.isdisjoint(_PRODUCTS)
        computes = "einsum" in names or (multiplies and (named or not names.isdisjoint(_TRANSPOSED)))
    return "computes its attention by itself" if computes else None


def _scripted_attention(module: torch.jit.ScriptModule) -> bool:
    try:
        graph = str(module.inlined_graph)
    except (AttributeError, RuntimeError):
        return False
    return "aten::softmax" in graph or "attention" in graph
