"""Watching attention from outside: `capture` records what every attention call of a model computed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from semfocus.mechanisms.attending import Changes, attend_at
from semfocus.mechanisms.call import AttentionInfo
from semfocus.mechanisms.pattern import Pattern
from semfocus.mechanisms.points import AttachedPoint, AttentionPoint, Listener


@dataclass(frozen=True)
class AttentionTrace:
    """One attention call: which layer, what came in, and the scores, kept keys and weights it used."""

    layer: int
    name: str
    inputs: Tensor
    scores: Tensor
    kept: Tensor
    weights: Tensor


class ObservableAttention(nn.Module, AttentionPoint):
    """A module whose attention goes through `attend`, and can therefore be captured."""

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
        output, _ = attend_at(
            self,
            inputs,
            query,
            key,
            value,
            pattern,
            scale=scale,
            mask=mask,
            causal=causal,
            dropout=dropout,
            generator=generator,
            implementation=implementation,
            changes=Changes(softcap=score_clip),
        )
        return output


def attention_points(model: nn.Module) -> list[tuple[str, nn.Module, AttentionPoint]]:
    """Name, module and point of every attention of ours, in the order of `model.named_modules()`."""
    return [
        (name, module, point)
        for name, module in model.named_modules()
        if (point := module if isinstance(module, AttentionPoint) else AttachedPoint.of(module)) is not None
    ]


@contextmanager
def capture(model: nn.Module) -> Iterator[list[AttentionTrace]]:
    """While open, every attention call of `model` runs on the reference and adds one trace to the list.

    Tensors are detached. Layers are numbered in the order of `model.named_modules()`.
    """
    points = attention_points(model)
    if not points:
        raise ValueError(
            f"{type(model).__name__} has no attention of ours to capture; semfocus.apply(model, Full()) makes it ours"
        )
    traces: list[AttentionTrace] = []
    added: list[tuple[AttentionPoint, Listener]] = []
    hooks = []
    for layer, (name, module, point) in enumerate(points):
        listener = _recorder(traces, layer, name)
        point.listeners = (*point.listeners, listener)
        added.append((point, listener))
        if isinstance(point, AttachedPoint):
            hooks.append(module.register_forward_pre_hook(point.remember, with_kwargs=True))
    try:
        yield traces
    finally:
        for hook in hooks:
            hook.remove()
        for point, listener in added:
            point.listeners = tuple(each for each in point.listeners if each is not listener)
            if isinstance(point, AttachedPoint):
                point.inputs = None


def _recorder(traces: list[AttentionTrace], layer: int, name: str) -> Listener:
    def record(inputs: Tensor, info: AttentionInfo) -> None:
        traces.append(
            AttentionTrace(
                layer, name, inputs.detach(), info.scores.detach(), info.kept, info.weights.detach()
            )
        )

    return record
