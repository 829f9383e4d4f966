"""Semantic focus: attention that keeps the highest-scoring keys, and tools to see why it learns faster."""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports
from semfocus.reminder import remind_of_loaded_models

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from semfocus.integrations import MultiheadAttention, apply, check, restore, sdpa
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
    from semfocus.study import Study

__all__ = [
    "AttentionInfo",
    "AttentionTrace",
    "Banded",
    "BlockLocal",
    "BottomK",
    "Full",
    "MultiheadAttention",
    "Pattern",
    "Random",
    "Study",
    "TopK",
    "TopP",
    "WithGlobals",
    "apply",
    "attention",
    "capture",
    "check",
    "parse_pattern",
    "restore",
    "sdpa",
]


remind_of_loaded_models()

# Lazy, so that `semfocus --help` need not wait for torch.
__getattr__, __dir__ = lazy_exports(
    __name__,
    dict.fromkeys(__all__, "semfocus.mechanisms")
    | dict.fromkeys(("MultiheadAttention", "apply", "check", "restore", "sdpa"), "semfocus.integrations")
    | {"Study": "semfocus.study"},
)
