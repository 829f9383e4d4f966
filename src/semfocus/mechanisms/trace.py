"""Watching attention from outside: `capture` records what every attention call of a model computed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from semfocus.mechanisms.call import AttentionInfo, checked_call
from semfocus.mechanisms.functional import attention
from semfocus.mechanisms.pattern import Pattern
from semfocus.mechanisms.reference import reference_attention

Listener = Callable[[Tensor, AttentionInfo], None]


@dataclass(frozen=True)
class AttentionTrace:
    """One attention call: which layer, what came in, and the scores, kept keys and weights it used."""

    layer: int
    name: str
    inputs: Tensor
    scores: Tensor
    kept: Tensor
    weights: Tensor


class ObservableAttention(nn.Module):
    """A module whose attention goes through `attend`, and can therefore be captured."""

    listeners: tuple[Listener, ...] = ()

    def attend(
        self,
        inputs: Tensor,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        pattern: Pattern,
        *,
        mask: Tensor | None = None,
        causal: bool = False,
        scale: float | None = None,
        dropout: float = 0.0,
        generator: torch.Generator | None = None,
        implementation: str = "auto",
        score_clip: float | None = None,
    ) -> Tensor:
        """`attention`, heard by the listeners; without any it is the bare function.

        `score_clip` limits the scaled scores to (-c, c), before the pattern chooses: c tanh(score / c), on the reference.
        """
        if not self.listeners and score_clip is None:
            return attention(
                query,
                key,
                value,
                pattern,
                mask=mask,
                causal=causal,
                scale=scale,
                dropout=dropout,
                generator=generator,
                implementation=implementation,
            )
        if score_clip is None:
            output, info = attention(
                query,
                key,
                value,
                pattern,
                mask=mask,
                causal=causal,
                scale=scale,
                dropout=dropout,
                generator=generator,
                return_info=True,
            )
        else:
            call = checked_call(query, key, value, pattern, mask, causal, scale, dropout, False, generator)
            output, info = reference_attention(replace(call, score_clip=score_clip))
        for listener in self.listeners:
            listener(inputs, info)
        return output


@contextmanager
def capture(model: nn.Module) -> Iterator[list[AttentionTrace]]:
    """While open, every attention call of `model` runs on the reference and adds one trace to the list.

    Tensors are detached. Layers are numbered in the order of `model.named_modules()`.
    """
    attentions = [
        (name, module) for name, module in model.named_modules() if isinstance(module, ObservableAttention)
    ]
    if not attentions:
        raise ValueError(f"{type(model).__name__} has no attention of ours to capture")
    traces: list[AttentionTrace] = []
    added: list[tuple[ObservableAttention, Listener]] = []
    for layer, (name, module) in enumerate(attentions):
        listener = _recorder(traces, layer, name)
        module.listeners = (*module.listeners, listener)
        added.append((module, listener))
    try:
        yield traces
    finally:
        for module, listener in added:
            module.listeners = tuple(each for each in module.listeners if each is not listener)


def _recorder(traces: list[AttentionTrace], layer: int, name: str) -> Listener:
    def record(inputs: Tensor, info: AttentionInfo) -> None:
        traces.append(
            AttentionTrace(
                layer, name, inputs.detach(), info.scores.detach(), info.kept, info.weights.detach()
            )
        )

    return record
