"""Finding the attention modules of a model, and refusing a model with one that cannot be switched."""

import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import Literal

from torch import nn

from semfocus.integrations.multihead import MultiheadAttention
from semfocus.mechanisms import AttentionPoint

Kind = Literal["torch", "hugging_face"]

_INTERFACE = "ALL_ATTENTION_FUNCTIONS"
_FUNCTIONS = re.compile(
    r"\b(scaled_dot_product_attention|multi_head_attention_forward|flex_attention|"
    r"flash_attn_func|flash_attn_varlen_func|_flash_attention_forward)\("
)
_PRODUCTS = re.compile(r"transpose\(-1, -2\)|transpose\(-2, -1\)|\.mT\b|\.T\b|einsum\(|bmm\(")
_NAME = re.compile(r"attention|attn", re.IGNORECASE)


@dataclass(frozen=True)
class Found:
    """An attention module that can be switched."""

    name: str
    module: nn.Module
    kind: Kind


def find_attentions(model: nn.Module) -> list[Found]:
    """All of them in the order of `model.named_modules()`; ValueError if there is none, or one of an unknown kind."""
    found, refused = [], []
    for name, module in model.named_modules():
        kind = _kind_of(module)
        reason = _refusal_of(module) if kind is None else _unready(module, kind)
        if reason is not None:
            refused.append(f"{name or 'the model itself'} ({type(module).__name__}) {reason}")
        elif kind is not None:
            found.append(Found(name, module, kind))
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
    return "hugging_face" if _INTERFACE in source_of_forward(module) else None


def _unready(module: nn.Module, kind: Kind) -> str | None:
    """What a module of a known kind lacks."""
    if kind == "hugging_face" and not hasattr(getattr(module, "config", None), "_attn_implementation"):
        return "keeps no config that says which attention it uses"
    return None


def _refusal_of(module: nn.Module) -> str | None:
    """Why a module that is none of the known kinds still looks like attention."""
    if isinstance(module, AttentionPoint):
        return "is attention of ours with a pattern of its own: give it there"
    if isinstance(module, nn.MultiheadAttention):
        return "is a subclass of nn.MultiheadAttention, which may compute something else"
    cls = type(module)
    if cls.__module__.startswith("torch.nn."):
        return None
    source = source_of_forward(module)
    if _FUNCTIONS.search(source):
        return "calls an attention function by itself"
    if "softmax" not in source:
        return None
    if cls.__module__.startswith("transformers.") or not _PRODUCTS.search(source):
        computes = _NAME.search(cls.__name__) is not None  # routers of experts have a softmax too
    else:
        computes = True
    return "computes its attention by itself" if computes else None


def source_of_forward(module: nn.Module) -> str:
    """The source of the class that defines `forward`, with those it hands on to; empty where there is none to read."""
    return _source_of(type(module))  # type: ignore[arg-type]  # a class of modules has a hash


@cache
def _source_of(cls: type) -> str:
    sources = []
    for each in cls.__mro__:
        if "forward" not in vars(each) or each is nn.Module:
            continue
        try:
            sources.append(inspect.getsource(each))
        except (OSError, TypeError):
            return ""
        if "super().forward" not in sources[-1]:
            break
    return "\n".join(sources)
