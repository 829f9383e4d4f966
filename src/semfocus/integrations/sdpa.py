"""`sdpa`: a model's own calls of F.scaled_dot_product_attention, served under a pattern while a block is open."""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from types import FrameType
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules import module as global_hooks
from torch.overrides import TorchFunctionMode
from torch.utils import checkpoint as checkpointing

from semfocus.integrations.first_pass import FirstPass
from semfocus.integrations.foreign_attention import is_watched
from semfocus.integrations.mask_conversion import allowed_and_bias
from semfocus.integrations.selection import (
    as_pattern,
    checked_inverse_temperature,
    counts_positions,
    needs_places,
    refuse_padding,
)
from semfocus.integrations.switch import is_applied
from semfocus.kernels.onlookers import numbers_are_hidden
from semfocus.mechanisms import Pattern
from semfocus.mechanisms.observation import AmbientAttention, Changes, ambient_attentions, attend_at

#: around the forward of every autograd function, such as reentrant checkpoints and reversible layers
_AUTOGRAD_FUNCTION = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]
_SERVED = {
    F.scaled_dot_product_attention,
    torch.ops.aten.scaled_dot_product_attention,
    torch.ops.aten.scaled_dot_product_attention.default,
}


@contextmanager
def sdpa(pattern: Pattern | str, inverse_temperature: float = 1.0) -> Iterator[AmbientAttention]:
    """While open, calls of F.scaled_dot_product_attention keep the keys of `pattern`, whoever makes them.

    For models that `apply` cannot switch because they call that function themselves. Everything else is as
    that function has it: `is_causal` counts from the first query and key, a float mask is added, `scale`,
    `dropout_p`, `enable_gqa`. The first forward pass of each model, in training and in evaluation, is watched
    as after `apply`: attention that is written out is refused with its line. `capture` and `check` work
    inside; a captured call has its query as `inputs`. Gradient checkpointing (use_reentrant=False) computes
    again under the pattern, even after the block.

    >>> layer = nn.Linear(4, 4)
    >>> x = torch.randn(2, 6, 4)
    >>> with sdpa("top_k(2)"):
    ...     output = F.scaled_dot_product_attention(layer(x), x, x)
    """
    served = _Served(as_pattern(pattern), checked_inverse_temperature(inverse_temperature))
    served.opened_in = _caller()
    first, thread = FirstPass(is_of_block=True), threading.get_ident()

    def begin(module: nn.Module, args: tuple[Any, ...]) -> None:
        if not torch.compiler.is_compiling():
            _refuse_unserved(module, threading.get_ident() != thread and first.has_passed(module))
        first.begin(module, args)

    hooks = [
        global_hooks.register_module_forward_pre_hook(begin),
        global_hooks.register_module_forward_hook(first.end, always_call=True),
    ]
    try:
        with served.known(), _recomputed_alike(served), _Interception(served):
            yield served
    finally:
        served.opened_in = None
        for hook in hooks:
            hook.remove()


def _caller() -> FrameType | None:
    """The frame that opens the block."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename == contextlib.__file__:
        frame = frame.f_back
    return frame


def _refuse_unserved(module: nn.Module, is_elsewhere: bool) -> None:
    name = type(module).__name__
    if is_elsewhere:
        raise ValueError(
            f"{name} is called in another thread than the one that opened semfocus.sdpa, which serves that one alone: "
            "open a block in the thread"
        )
    if is_applied(module) and not ambient_attentions()[-1].is_suspended:
        raise ValueError(
            f"{name} was switched by semfocus.apply, and keeps that pattern in a block of semfocus.sdpa: "
            "use one of the two (semfocus.restore undoes the first)"
        )


class _Interception(TorchFunctionMode):
    def __init__(self, served: "_Served") -> None:
        super().__init__()
        self._served = served

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in _SERVED and not self._served.is_suspended:
            return self._served.attend(*args, **(kwargs or {}))
        if not (self._served.is_suspended or torch.compiler.is_compiling()):
            _refuse_other_attention(func)
        return func(*args, **(kwargs or {}))


def _refuse_other_attention(func: Any) -> None:
    """What computes attention in its own way; under a watch, which reports it, it may."""
    name = getattr(func, "__name__", "")
    if "attention" in name and getattr(func, "namespace", "") != "semfocus" and not is_watched():
        raise ValueError(
            f"{name} computes attention past semfocus.sdpa, which serves F.scaled_dot_product_attention only: "
            "semfocus.apply(model, ...) switches nn.MultiheadAttention"
        )


@contextmanager
def _recomputed_alike(served: "_Served") -> Iterator[None]:
    """What gradient checkpointing computes again, it computes under the pattern, inside the block or after it."""
    frames: Any = checkpointing._CheckpointFrame
    initialise, thread = frames.__init__, threading.get_ident()

    @wraps(initialise)
    def __init__(self: Any, recompute: Callable[..., None], *rest: Any, **options: Any) -> None:
        if threading.get_ident() == thread:
            recompute = partial(_recompute, recompute, served)
        initialise(self, recompute, *rest, **options)

    frames.__init__ = __init__
    try:
        yield
    finally:
        frames.__init__ = initialise


def _recompute(recompute: Callable[..., None], served: "_Served", *args: Any) -> None:
    with _Interception(served):
        recompute(*args)


class _Served(AmbientAttention):
    """The calls of one block."""

    def __init__(self, pattern: Pattern, inverse_temperature: float) -> None:
        super().__init__()
        self.pattern, self.inverse_temperature = pattern, inverse_temperature
        #: while the block is open
        self.opened_in: FrameType | None = None

    def attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """As F.scaled_dot_product_attention."""
        caller, is_out_of_reach = _around(self.opened_in)
        if is_out_of_reach:
            raise ValueError(
                "attention inside a torch.autograd.Function, such as a checkpoint with use_reentrant=True or a "
                "reversible layer, is computed again where semfocus.sdpa cannot see it: use checkpoint with "
                "use_reentrant=False, or open the block inside"
            )
        if query.is_nested or key.is_nested:
            raise ValueError(
                "semfocus.sdpa does not serve nested tensors: pad the sequences, and give a mask"
            )
        mask, causal, bias = self._mask(query, key, attn_mask, is_causal)
        output, _ = attend_at(
            self.point(caller),
            query,
            query,
            key,
            value,
            self.pattern,
            scale=scale,
            inverse_temperature=self.inverse_temperature,
            mask=mask,
            causal=causal,
            dropout=dropout_p,
            enable_gqa=enable_gqa,
            changes=Changes(bias=bias),
        )
        return output

    def _mask(
        self, query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool
    ) -> tuple[Tensor | None, bool, Tensor | None]:
        num_queries, num_keys = query.shape[-2], key.shape[-2]
        if counts_positions(self.pattern) and num_queries != num_keys:
            raise ValueError(
                f"{self.pattern} counts positions, and {num_queries} queries over {num_keys} keys have none in common; "
                "use a pattern of scores such as TopK(5)"
            )
        if is_causal and mask is not None:
            raise ValueError("give attn_mask or is_causal=True to scaled_dot_product_attention, not both")
        if is_causal and num_queries != num_keys:  # from the first query and key on, unlike ours
            mask = torch.ones(num_queries, num_keys, dtype=torch.bool, device=query.device).tril()
        elif is_causal:
            return None, True, None
        if mask is None:
            return None, False, None
        allowed, bias = (mask, None) if mask.dtype == torch.bool else _of_float(mask)
        if needs_places(self.pattern) and not numbers_are_hidden(allowed):
            refuse_padding(self.pattern, allowed.any(-2) if allowed.dim() > 1 else allowed)
        return allowed, False, bias


def _of_float(mask: Tensor) -> tuple[Tensor, Tensor | None]:
    """What a float mask allows and adds; where a row forbids all by finite numbers, all are alike, as in a softmax."""
    allowed, bias = allowed_and_bias(mask)
    alike = ~allowed.any(-1, keepdim=True) & (mask > -torch.inf)
    if numbers_are_hidden(mask) or alike.any():
        bias = mask.where(alike, torch.zeros_like(mask) if bias is None else bias)
        allowed = allowed | alike
    return allowed, bias


def _around(opened_in: FrameType | None) -> tuple[nn.Module | None, bool]:
    """The module whose code makes the call, and whether it may be computed again where no block is open."""
    caller, is_inside, is_out_of_reach = None, True, False
    if torch.compiler.is_compiling():  # a graph has no frames
        return None, False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        owner = frame.f_locals.get("self") if caller is None else None
        if isinstance(owner, nn.Module):
            caller = owner
        is_inside &= frame is not opened_in  # who computes again around the block opens it again
        is_out_of_reach |= is_inside and frame.f_code is _AUTOGRAD_FUNCTION
        frame = frame.f_back
    return caller, is_out_of_reach
