"""`sdpa`: a model's own calls of F.scaled_dot_product_attention, served under a pattern while a block is open."""

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
from semfocus.integrations.mask_conversion import allowed_and_bias
from semfocus.integrations.selection import as_pattern, checked_inverse_temperature, counts_positions
from semfocus.mechanisms import Pattern
from semfocus.mechanisms.observation import AmbientAttention, Changes, attend_at

_REENTRANT = checkpointing.CheckpointFunction.forward.__code__


@contextmanager
def sdpa(pattern: Pattern | str, inverse_temperature: float = 1.0) -> Iterator[AmbientAttention]:
    """While open, calls of F.scaled_dot_product_attention keep the keys of `pattern`, whoever makes them.

    For models that `apply` cannot switch because they call that function themselves. Everything else is as that function
    has it: `is_causal` counts from the first query and key, a float mask is added, `scale`, `dropout_p`, `enable_gqa`.
    The first forward pass of each model, in training and in evaluation, is watched as after `apply`: attention that is
    written out is refused with its line. `capture` and `check` work inside; a captured call has its query as `inputs`.
    Gradient checkpointing (use_reentrant=False) computes again under the pattern, even after the block.

    >>> layer = nn.Linear(4, 4)
    >>> x = torch.randn(2, 6, 4)
    >>> with sdpa("top_k(2)"):
    ...     output = F.scaled_dot_product_attention(layer(x), x, x)
    """
    served = _Served(as_pattern(pattern), checked_inverse_temperature(inverse_temperature))
    first = FirstPass()
    hooks = [
        global_hooks.register_module_forward_pre_hook(first.begin),
        global_hooks.register_module_forward_hook(first.end, always_call=True),
    ]
    try:
        with served.known(), _recomputed_alike(served), _Interception(served):
            yield served
    finally:
        for hook in hooks:
            hook.remove()


class _Interception(TorchFunctionMode):
    def __init__(self, served: "_Served") -> None:
        super().__init__()
        self._served = served

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func is F.scaled_dot_product_attention and not self._served.is_suspended:
            return self._served.attend(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


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
        caller, is_out_of_reach = _around()
        if is_out_of_reach:
            raise ValueError(
                "gradient checkpointing with use_reentrant=True computes attention again where semfocus.sdpa cannot see it: "
                "use use_reentrant=False"
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
        if mask is None or mask.dtype == torch.bool:
            return mask, False, None
        allowed, bias = allowed_and_bias(mask)
        return allowed, False, bias


def _around() -> tuple[nn.Module | None, bool]:
    """The module whose code makes the call, and whether it will be computed again where no block is open."""
    caller, is_out_of_reach = None, False
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        owner = frame.f_locals.get("self") if caller is None else None
        if isinstance(owner, nn.Module):
            caller = owner
        is_out_of_reach |= frame.f_code is _REENTRANT
        frame = frame.f_back
    return caller, is_out_of_reach
