"""Semantic focus: attention that keeps the highest-scoring keys, and tools to see why it learns faster."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from semfocus.mechanisms import (
        AttentionInfo,
        AttentionTrace,
        Banded,
        BlockLocal,
        BottomK,
        Full,
        Pattern,
        Random,
        TopK,
        TopP,
        WithGlobals,
        attention,
        capture,
        parse_pattern,
    )

__all__ = [
    "AttentionInfo",
    "AttentionTrace",
    "Banded",
    "BlockLocal",
    "BottomK",
    "Full",
    "Pattern",
    "Random",
    "TopK",
    "TopP",
    "WithGlobals",
    "attention",
    "capture",
    "parse_pattern",
]


def __getattr__(name: str) -> Any:
    # Lazy, so that `semfocus --help` need not wait for torch.
    if name in __all__:
        return getattr(import_module("semfocus.mechanisms"), name)
    raise AttributeError(f"module 'semfocus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
