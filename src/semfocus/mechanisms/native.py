"""The compiled kernels as an implementation of attention: which calls they serve, and how a call is handed over."""

import math
from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor

from semfocus.kernels.cpu.attention import Options
from semfocus.kernels.cpu.layout import Mode
from semfocus.kernels.cpu.library import has_kernels
from semfocus.kernels.cpu.operations import attend, attend_changed
from semfocus.kernels.onlookers import REASON, is_dispatched, is_transformed
from semfocus.mechanisms.call import AttentionCall, allowed_rows
from semfocus.mechanisms.controls import BottomK, Random
from semfocus.mechanisms.global_tokens import WithGlobals
from semfocus.mechanisms.input_agnostic import Banded, BlockLocal, Full, InputAgnostic
from semfocus.mechanisms.input_dependent import TopK
from semfocus.mechanisms.pattern import Pattern, QueryRows
from semfocus.mechanisms.reference import reference_attention
from semfocus.randomness import draw_seed

_MODES: dict[type, Mode] = {
    TopK: "top",
    BottomK: "bottom",
    Random: "random",
    Banded: "banded",
    BlockLocal: "block_local",
    Full: "all",
}
#: types in which the kernels compute, and those that are converted to float32 first, as everywhere else
_DTYPES, _CONVERTED = (torch.float32, torch.float64), (torch.bfloat16, torch.float16)


def has_kernel(pattern: Pattern) -> bool:
    """Whether a pattern is compiled."""
    return type(pattern) in _MODES and not (isinstance(pattern, Random) and pattern.fixed)


def refuses(call: AttentionCall) -> str | None:
    """Why the native kernels cannot serve a call, or None."""
    if not has_kernels():
        return "the kernels were not compiled: install with a C++ compiler (see `semfocus doctor`)"
    if torch.jit.is_tracing():  # type: ignore[attr-defined]
        return "torch.jit.trace does not see the kernels"
    if is_transformed():
        return REASON
    if not has_kernel(call.pattern):
        if not serves_as_mask(call.pattern, call.query.shape[-2], call.key.shape[-2]):
            return f"no native kernel for {call.pattern} at this length"
        if torch.compiler.is_compiling():
            return f"{call.pattern} looks at the numbers first, which torch.compile cannot follow"
    if call.query.device.type != "cpu" or call.query.dtype not in (*_DTYPES, *_CONVERTED):
        return f"native kernels are for floating-point numbers on the CPU, not {call.query.dtype} on {call.query.device}"
    num_queries, num_keys = call.query.shape[-2], call.key.shape[-2]
    if min(num_queries, num_keys) == 0:
        return "an empty sequence"
    if call.is_changed and (reason := _refuses_changed(call)) is not None:
        return reason
    # A graph is not to be limited by a length that no memory holds.
    if not torch.compiler.is_compiling() and max(num_queries, num_keys) >= 2**31:
        return "too long a sequence"
    return None


def _refuses_changed(call: AttentionCall) -> str | None:
    if not isinstance(call.pattern, TopK | BottomK) or call.pattern.k >= call.key.shape[-2]:
        return f"softcap and bias are compiled for top_k and bottom_k, not for {call.pattern} at this length"
    if torch.compiler.is_compiling() or is_dispatched(call.query, call.key, call.value):
        return "softcap and bias are no registered operation, which a trace could follow"
    return None


def native_attention(call: AttentionCall) -> Tensor:
    """Output (..., Lq, dv) of a call that is not refused."""
    shape = call.batch_shape
    num_queries, num_keys = call.query.shape[-2], call.key.shape[-2]
    if not has_kernel(call.pattern):
        if not _scores_are_surely_finite(call):  # a NaN counts even where the key is not kept
            return reference_attention(call)[0]
        kept = kept_mask(call.pattern, num_queries, num_keys, call.mask, call.causal)
        call = replace(call, pattern=Full(), mask=kept, causal=False)
    options = options_of(
        call.pattern, num_queries, num_keys, call.causal, call.scale, call.dropout, call.generator
    )
    mask = None if call.mask is None else _four(call.mask, shape, (num_queries, num_keys))
    traced = options.threads == 0
    query, key, value = (
        _rows(_four(tensor, shape, tensor.shape[-2:]), traced)
        for tensor in (call.query, call.key, call.value)
    )
    if call.is_changed:
        options = replace(options, softcap=call.softcap or 0.0)
        bias = None if call.bias is None else _four_of_bias(call.bias.to(query.dtype), shape)
        output = attend_changed(query, key, value, mask, bias, options)
    else:
        output = attend(query, key, value, mask, options)
    if output.dtype != call.query.dtype:
        output = output.to(call.query.dtype)
    return output if len(shape) == 2 else output.reshape(*shape, *output.shape[-2:])


def _four_of_bias(bias: Tensor, shape: torch.Size) -> Tensor:
    """(outer, inner, queries, keys), of which any may be 1 and broadcast."""
    while bias.dim() < len(shape) + 2:
        bias = bias.unsqueeze(0)
    if len(shape) > 2:
        bias = bias.expand(*shape, *bias.shape[-2:]).reshape(-1, shape[-1], *bias.shape[-2:])
    while bias.dim() < 4:
        bias = bias.unsqueeze(0 if bias.dim() == 2 else 1)
    return bias


def _scores_are_surely_finite(call: AttentionCall) -> bool:
    """Whether no sum of products can leave the finite numbers; False for NaN."""
    query, key = call.query.detach(), call.key.detach()
    largest = max(1.0, abs(call.scale)) * query.shape[-1] * float(query.abs().max()) * float(key.abs().max())
    return largest < torch.finfo(torch.promote_types(query.dtype, torch.float32)).max / 2


def options_of(
    pattern: Pattern,
    num_queries: int,
    num_keys: int,
    causal: bool,
    scale: float,
    dropout: float,
    generator: torch.Generator | None,
) -> Options:
    """A call in the kernels' words; draws the seeds that it needs."""
    if isinstance(pattern, TopK | BottomK) and pattern.k >= num_keys:
        pattern = Full()
    # Larger sizes mean the same, and would not fit the kernels' integers.
    size = min(_size(pattern), num_keys + num_queries)
    return Options(
        mode=_MODES[type(pattern)],
        size=size,
        kept=min(size, num_keys),
        causal=causal,
        scale=scale,
        dropout=dropout,
        # In this order on every implementation, so that one generator gives one result.
        selection_seed=draw_seed(generator) if isinstance(pattern, Random) else 0,
        dropout_seed=draw_seed(generator) if dropout else 0,
        # 0: as many as there are when the graph runs, not when it is traced.
        threads=0 if torch.compiler.is_compiling() else torch.get_num_threads(),
    )


def _size(pattern: Pattern) -> int:
    """How many keys a query keeps at most; full attention keeps no list of them."""
    if isinstance(pattern, TopK | BottomK | Random):
        return pattern.k
    if isinstance(pattern, Banded):
        return pattern.width
    return pattern.size if isinstance(pattern, BlockLocal) else 0


def _four(tensor: Tensor, shape: torch.Size, last: tuple[int, ...]) -> Tensor:
    """The tensor as (outer, inner, *last), broadcast, without copying where two leading dimensions suffice."""
    tensor = tensor.expand(*shape, *last)
    if len(shape) > 2:
        return tensor.reshape(math.prod(shape[:-1]), shape[-1], *last)
    while tensor.dim() < 4:
        tensor = tensor.unsqueeze(0 if tensor.dim() == 2 else 1)
    return tensor


def _rows(tensor: Tensor, traced: bool) -> Tensor:
    """The kernels take any strides, except that the features of a row lie side by side."""
    if tensor.dtype in _CONVERTED:
        tensor = tensor.float()
    if traced:  # the operation looks at memory itself, when there is some
        return tensor
    if tensor.is_neg():  # a view that means the negative of its memory
        tensor = tensor.resolve_neg()
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


#: entries of a mask that is worth its memory; beyond, blocks of queries are
MOST_ENTRIES = 2**20


def serves_as_mask(pattern: Pattern, num_queries: int, num_keys: int) -> bool:
    """Whether the kept keys follow from positions and allowed keys alone, and their mask is small."""
    base = pattern.base if isinstance(pattern, WithGlobals) else pattern
    is_static = isinstance(base, InputAgnostic) or (isinstance(base, Random) and base.fixed)
    return is_static and base.serves_rows() and num_queries * num_keys <= MOST_ENTRIES


def kept_mask(
    pattern: Pattern, num_queries: int, num_keys: int, mask: Tensor | None = None, causal: bool = False
) -> Tensor:
    """The kept keys as a mask that broadcasts to (..., num_queries, num_keys)."""
    if mask is None:
        return _kept_without_mask(pattern, num_queries, num_keys, causal)
    rows = QueryRows(0, num_queries, num_queries, num_keys)
    allowed = allowed_rows(rows, mask, causal, mask.device)
    return pattern.keep(torch.zeros((), device=mask.device).expand(allowed.shape), allowed)


@lru_cache(maxsize=256)
def _kept_without_mask(pattern: Pattern, num_queries: int, num_keys: int, causal: bool) -> Tensor:
    rows = QueryRows(0, num_queries, num_queries, num_keys)
    with torch.inference_mode(False):  # it is kept, and may be needed by a backward pass later
        allowed = allowed_rows(rows, None, causal, torch.device("cpu"))
        return pattern.keep(torch.zeros((), device="cpu").expand(allowed.shape), allowed).contiguous()
