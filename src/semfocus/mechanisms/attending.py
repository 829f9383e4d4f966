"""One attention call at a point: scores that its model changes in its own way, weights it wants to see, listeners."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.mechanisms.call import checked_call
from semfocus.mechanisms.functional import attention
from semfocus.mechanisms.pattern import Pattern
from semfocus.mechanisms.points import AttentionPoint
from semfocus.mechanisms.reference import reference_attention


@dataclass(frozen=True)
class Changes:
    """What a model does to its scores before the softmax, in this order, and a score that stands for no key."""

    softcap: float | None = None
    bias: Tensor | None = None
    sink: Tensor | None = None

    def __bool__(self) -> bool:
        return self.softcap is not None or self.bias is not None or self.sink is not None

    def of_scores(self, scores: Tensor, inverse_temperature: float) -> Tensor:
        """softcap * tanh(score / softcap), + bias; the temperature is that of the whole."""
        if self.softcap is not None:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.bias is not None:
            scores = scores + self.bias
        return scores if inverse_temperature == 1.0 else scores * inverse_temperature


def attend_at(
    point: AttentionPoint,
    inputs: Tensor | None,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    pattern: Pattern,
    *,
    scale: float | None,
    inverse_temperature: float = 1.0,
    mask: Tensor | None = None,
    causal: bool = False,
    dropout: float = 0.0,
    enable_gqa: bool = False,
    generator: torch.Generator | None = None,
    implementation: str = "auto",
    changes: Changes = Changes(),  # noqa: B008  (a frozen value)
    need_weights: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Output, and the weights before dropout if they are needed.

    Changed scores, weights and listeners are served by the reference, with a matrix of all scores; every other
    call by the implementation that is asked for.
    """
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    if not (changes or need_weights or point.listeners):
        output = attention(
            query,
            key,
            value,
            pattern,
            mask=mask,
            causal=causal,
            scale=scale * inverse_temperature,
            dropout=dropout,
            enable_gqa=enable_gqa,
            generator=generator,
            implementation=implementation,
        )
        return output, None
    call = checked_call(query, key, value, pattern, mask, causal, scale, dropout, enable_gqa, generator)
    sink = None if changes.sink is None else changes.sink * inverse_temperature
    output, info = reference_attention(
        call, lambda scores: changes.of_scores(scores, inverse_temperature), sink
    )
    if point.listeners:
        if inputs is None:
            raise ValueError("a captured attention was called without any tensor")
        point.hear(inputs, info)
    return output, info.weights if need_weights else None
