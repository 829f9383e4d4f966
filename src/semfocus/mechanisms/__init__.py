"""Attention patterns and the attention that obeys them."""

from semfocus.kernels.cpu.library import kernel_version, kernels_in_use
from semfocus.mechanisms.call import AttentionInfo
from semfocus.mechanisms.catalog import PATTERNS, parse_pattern, register_pattern
from semfocus.mechanisms.controls import BottomK, Random
from semfocus.mechanisms.dispatch import attention
from semfocus.mechanisms.global_tokens import WithGlobals
from semfocus.mechanisms.input_agnostic import Banded, BlockLocal, Full, InputAgnostic
from semfocus.mechanisms.input_dependent import TopK, TopP
from semfocus.mechanisms.observation import (
    AttachedPoint,
    AttentionPoint,
    AttentionTrace,
    ObservableAttention,
    capture,
)
from semfocus.mechanisms.pattern import Pattern, PatternByRows, QueryRows, keep_largest, query_positions

__all__ = [
    "PATTERNS",
    "AttachedPoint",
    "AttentionInfo",
    "AttentionPoint",
    "AttentionTrace",
    "Banded",
    "BlockLocal",
    "BottomK",
    "Full",
    "InputAgnostic",
    "ObservableAttention",
    "Pattern",
    "PatternByRows",
    "QueryRows",
    "Random",
    "TopK",
    "TopP",
    "WithGlobals",
    "attention",
    "capture",
    "keep_largest",
    "kernel_version",
    "kernels_in_use",
    "parse_pattern",
    "query_positions",
    "register_pattern",
]
