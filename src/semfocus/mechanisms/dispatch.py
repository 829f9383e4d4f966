"""The public function `attention`, and which implementation serves a call: the fastest that does not refuse it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, overload

import torch
from torch import Tensor

from semfocus.mechanisms.blockwise import blockwise_attention
from semfocus.mechanisms.blockwise import refuses as blockwise_refuses
from semfocus.mechanisms.call import AttentionCall, AttentionInfo, checked_call
from semfocus.mechanisms.catalog import parse_pattern
from semfocus.mechanisms.input_agnostic import Full
from semfocus.mechanisms.native import native_attention
from semfocus.mechanisms.native import refuses as native_refuses
from semfocus.mechanisms.pattern import Pattern
from semfocus.mechanisms.reference import reference_attention


@dataclass(frozen=True)
class Implementation:
    """A way to compute the output; `refuses` says in words why it cannot serve a call, or None."""

    run: Callable[[AttentionCall], Tensor]
    refuses: Callable[[AttentionCall], str | None]


IMPLEMENTATIONS: dict[str, Implementation] = {
    "native": Implementation(run=native_attention, refuses=native_refuses),
    "torch": Implementation(run=blockwise_attention, refuses=blockwise_refuses),
    "reference": Implementation(run=lambda call: reference_attention(call)[0], refuses=lambda call: None),
}


def choose(call: AttentionCall, name: str) -> Implementation:
    """The implementation asked for, or the fastest that serves this call."""
    if name == "auto":
        return next(each for each in IMPLEMENTATIONS.values() if each.refuses(call) is None)
    if name not in IMPLEMENTATIONS:
        known = ", ".join(["auto", *IMPLEMENTATIONS])
        raise ValueError(f"implementation {name!r} is not available here; available: {known}")
    reason = IMPLEMENTATIONS[name].refuses(call)
    if reason is not None:
        raise ValueError(f"implementation {name!r} cannot serve this call: {reason}")
    return IMPLEMENTATIONS[name]


@overload
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern | str = ...,
    *,
    mask: Tensor | None = ...,
    causal: bool = ...,
    scale: float | None = ...,
    dropout: float = ...,
    enable_gqa: bool = ...,
    generator: torch.Generator | None = ...,
    implementation: str = ...,
    return_info: Literal[False] = ...,
) -> Tensor: ...


@overload
def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern | str = ...,
    *,
    mask: Tensor | None = ...,
    causal: bool = ...,
    scale: float | None = ...,
    dropout: float = ...,
    enable_gqa: bool = ...,
    generator: torch.Generator | None = ...,
    implementation: str = ...,
    return_info: Literal[True],
) -> tuple[Tensor, AttentionInfo]: ...


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern | str = Full(),  # noqa: B008  (a frozen value)
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    scale: float | None = None,
    dropout: float = 0.0,
    enable_gqa: bool = False,
    generator: torch.Generator | None = None,
    implementation: str = "auto",
    return_info: bool = False,
) -> Tensor | tuple[Tensor, AttentionInfo]:
    """Attention in which each query keeps the keys that `pattern` selects among the allowed ones.

    query (..., Lq, d), key (..., Lk, d), value (..., Lk, dv) -> (..., Lq, dv). Leading dimensions are
    batch and heads. `scale` defaults to 1/sqrt(d). pattern: a Pattern, or its text.

    mask: bool, True = may attend, broadcastable to (..., Lq, Lk).
    causal: query i stands at position Lk - Lq + i and sees keys up to that position.
    Allowed = mask AND causal; then the pattern keeps among the allowed keys. A query with no allowed
    key outputs exactly 0 and has zero gradient. A NaN score of an allowed key makes its row NaN; NaN
    or Inf in a key that is not allowed, or in a value that is not kept, reaches nothing.

    generator: random numbers for dropout and `Random`; by default PyTorch's global ones.
    implementation: "auto", the first of these that serves the call, or one by name, which states why if it
    cannot. "native": compiled kernels, on the CPU. "torch": on any device, a block of queries at a time,
    without a matrix of all scores. "reference": the definition, with such a matrix.
    return_info: also return AttentionInfo(scores, kept, weights), from the reference implementation.

    >>> from semfocus import TopK
    >>> query = key = value = torch.eye(3)
    >>> attention(query, key, value, TopK(1), scale=1.0).int().tolist()
    [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    """
    if isinstance(pattern, str):
        pattern = parse_pattern(pattern)
    call = checked_call(query, key, value, pattern, mask, causal, scale, dropout, enable_gqa, generator)
    if return_info:
        if implementation not in ("auto", "reference"):
            raise ValueError(f"return_info comes from the reference implementation, not {implementation!r}")
        return reference_attention(call)
    return choose(call, implementation).run(call)
