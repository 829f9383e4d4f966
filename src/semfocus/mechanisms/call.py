"""One attention call with everything an implementation needs, checked once."""

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from numbers import Real

import torch
from torch import Tensor

from semfocus.mechanisms.pattern import Pattern, QueryRows


@dataclass(frozen=True)
class AttentionCall:
    """Checked inputs: query (..., Lq, d), key (..., Lk, d), value (..., Lk, dv), heads already matched."""

    query: Tensor
    key: Tensor
    value: Tensor
    pattern: Pattern
    mask: Tensor | None
    causal: bool
    scale: float
    dropout: float
    generator: torch.Generator | None
    #: what is done to the scaled scores before anything is masked or kept: softcap * tanh(score / softcap), + bias
    softcap: float | None = None
    bias: Tensor | None = None

    @property
    def is_changed(self) -> bool:
        """Whether scores are more than scaled products."""
        return self.softcap is not None or self.bias is not None

    @property
    def batch_shape(self) -> torch.Size:
        """The leading dimensions of the output."""
        return _broadcast(self.query.shape[:-2], self.key.shape[:-2], self.value.shape[:-2])

    def allowed(self) -> Tensor:
        """mask AND causal, in the smallest shape that broadcasts to (..., Lq, Lk)."""
        num_queries = self.query.shape[-2]
        rows = QueryRows(0, num_queries, num_queries, self.key.shape[-2])
        return allowed_rows(rows, self.mask, self.causal, self.query.device)


@dataclass(frozen=True)
class AttentionInfo:
    """What a call saw: scaled scores (-inf where not allowed), kept keys, weights before dropout."""

    scores: Tensor
    kept: Tensor
    weights: Tensor


def checked_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    mask: Tensor | None,
    causal: bool,
    scale: float | None,
    dropout: float,
    enable_gqa: bool,
    generator: torch.Generator | None,
) -> AttentionCall:
    """Refuse what cannot mean anything, with what was expected and what came."""
    if not isinstance(pattern, Pattern):
        raise ValueError(
            f"pattern must be a Pattern such as TopK(5), got {_briefly(pattern)}; a mask is mask=..."
        )
    if causal and pattern.global_tokens():
        raise ValueError(f"{pattern} cannot be causal: a global token sees the whole sequence")
    if not 0.0 <= dropout < 1.0:
        raise ValueError(f"dropout must be at least 0 and below 1, got {dropout}")
    query, key, value = in_one_type(query, key, value)
    _check_tensors(query, key, value)
    if enable_gqa:
        key, value = _repeat_heads(query, key), _repeat_heads(query, value)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else _checked_scale(scale)
    call = AttentionCall(query, key, value, pattern, mask, causal, scale, dropout, generator)
    _check_shapes(call)
    return call


def _briefly(value: object) -> str:
    return type(value).__name__ if isinstance(value, Tensor) else repr(value)


def _checked_scale(scale: object) -> float:
    if isinstance(scale, Tensor):  # the kernels would take its value and lose its gradient
        raise TypeError("scale must be a number; for a scale that is learned, multiply the query by it")
    if torch.compiler.is_compiling():  # a number that a graph leaves open cannot be looked at
        return scale  # type: ignore[return-value]
    if not isinstance(scale, Real) or not math.isfinite(scale):
        raise ValueError(f"scale must be a finite number, got {scale!r}")
    return float(scale)


def _check_tensors(query: Tensor, key: Tensor, value: Tensor) -> None:
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} must be a tensor, got {type(tensor).__name__}")
        if tensor.is_nested:
            raise ValueError("nested tensors are not served: pad the sequences, and give a mask")
        if tensor.dim() < 2 or not tensor.is_floating_point():
            raise ValueError(
                f"{name} must be a floating-point tensor (..., length, features), "
                f"got {tensor.dtype} of shape {tuple(tensor.shape)}"
            )
        if tensor.dtype != query.dtype or tensor.device != query.device:
            raise ValueError(
                f"query, key and value must share dtype and device, got {query.dtype} on {query.device} "
                f"and {name} {tensor.dtype} on {tensor.device}"
            )
    if query.shape[-1] != key.shape[-1] or query.shape[-1] == 0:
        raise ValueError(f"query and key need the same width, at least 1: {query.shape[-1]}, {key.shape[-1]}")
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(f"key and value need the same length: {key.shape[-2]}, {value.shape[-2]}")


def _repeat_heads(query: Tensor, tensor: Tensor) -> Tensor:
    """Grouped-query attention: one key head serves a group of consecutive query heads."""
    if query.dim() < 3 or tensor.dim() < 3 or not tensor.shape[-3] or query.shape[-3] % tensor.shape[-3]:
        raise ValueError(
            "enable_gqa needs (..., heads, length, features) with the number of query heads a multiple "
            f"of the key heads, got shapes {tuple(query.shape)} and {tuple(tensor.shape)}"
        )
    return tensor.repeat_interleave(query.shape[-3] // tensor.shape[-3], dim=-3)


def allowed_rows(rows: QueryRows, mask: Tensor | None, causal: bool, device: torch.device) -> Tensor:
    """mask AND causal for a block of queries, in the smallest shape that broadcasts to (..., rows, Lk)."""
    if causal:
        allowed = torch.arange(rows.num_keys, device=device) <= rows.positions(device)
    else:
        allowed = torch.ones(rows.stop - rows.first, rows.num_keys, dtype=torch.bool, device=device)
    if mask is None:
        return allowed
    differs_by_query = mask.dim() > 1 and mask.shape[-2] > 1
    return allowed & (mask[..., rows.first : rows.stop, :] if differs_by_query else mask)


def _broadcast(*shapes: Sequence[int]) -> torch.Size:
    return torch.Size(torch.broadcast_shapes(*shapes))


def _check_shapes(call: AttentionCall) -> None:
    try:
        batch_shape = call.batch_shape
    except RuntimeError:
        shapes = [tuple(tensor.shape) for tensor in (call.query, call.key, call.value)]
        raise ValueError(
            f"leading dimensions of query, key and value do not broadcast: {shapes} "
            "(fewer key heads than query heads: enable_gqa=True)"
        ) from None
    if call.mask is None:
        return
    if not isinstance(call.mask, Tensor) or call.mask.dtype != torch.bool:
        given = call.mask.dtype if isinstance(call.mask, Tensor) else type(call.mask).__name__
        raise TypeError(f"mask must be a bool tensor (True = may attend), got {given}")
    if call.mask.device != call.query.device:
        raise ValueError(f"mask is on {call.mask.device}, query, key and value on {call.query.device}")
    full_shape = (*batch_shape, call.query.shape[-2], call.key.shape[-2])
    try:
        fits = _broadcast(call.mask.shape, full_shape) == torch.Size(full_shape)
    except RuntimeError:
        fits = False
    if not fits:
        is_key_padding = call.mask.dim() == 2 and call.mask.shape == (full_shape[0], full_shape[-1])
        hint = (
            "; for padding of keys use mask[:, None, None, :]"
            if is_key_padding and len(full_shape) == 4
            else ""
        )
        raise ValueError(f"mask of shape {tuple(call.mask.shape)} does not broadcast to {full_shape}{hint}")


def without_autocast(device: torch.device) -> AbstractContextManager[object]:
    """Both passes must see the same scores to choose the same keys, wherever autocast begins and ends."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()


def in_one_type(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Where autocast made some of the three small and left others, all of them in its type.

    What is no tensor is handed back: whoever calls says so.
    """
    try:
        if query.dtype == key.dtype == value.dtype:
            return query, key, value
    except AttributeError:
        return query, key, value
    if not all(isinstance(each, Tensor) for each in (query, key, value)):
        return query, key, value
    device = query.device.type
    if not torch.is_autocast_enabled(device):
        return query, key, value
    dtype = torch.get_autocast_dtype(device)
    return query.to(dtype), key.to(dtype), value.to(dtype)
