"""Which implementation serves a call: the first one, in order of speed, that does not refuse it."""

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from semfocus.mechanisms.call import AttentionCall
from semfocus.mechanisms.chunked import chunked_attention
from semfocus.mechanisms.chunked import refuses as chunked_refuses
from semfocus.mechanisms.kernels.native import native_attention
from semfocus.mechanisms.kernels.native import refuses as native_refuses
from semfocus.mechanisms.reference import reference_attention


@dataclass(frozen=True)
class Implementation:
    """A way to compute the output; `refuses` says in words why it cannot serve a call, or None."""

    run: Callable[[AttentionCall], Tensor]
    refuses: Callable[[AttentionCall], str | None]


IMPLEMENTATIONS: dict[str, Implementation] = {
    "native": Implementation(run=native_attention, refuses=native_refuses),
    "torch": Implementation(run=chunked_attention, refuses=chunked_refuses),
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
