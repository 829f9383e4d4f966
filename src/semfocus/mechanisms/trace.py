"""Watching attention from outside: `capture` records what every attention call of a model computed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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


class AttentionPoint:
    """A place where attention happens, whose listeners hear of every call."""

    listeners: tuple[Listener, ...] = ()

    def hear(self, inputs: Tensor, info: AttentionInfo) -> None:
        """Tell the listeners of one call."""
        for listener in self.listeners:
            listener(inputs, info)


class AttachedPoint(AttentionPoint):
    """A point beside a module of somebody else, which does not hand its inputs over: a hook remembers them."""

    inputs: Tensor | None = None

    def attach(self, module: nn.Module) -> None:
        """Stand beside `module`, outside of its parameters, buffers and submodules."""
        module.__dict__[_ATTACHED] = self

    @staticmethod
    def of(module: nn.Module) -> "AttachedPoint | None":
        """The point beside a module, if there is one."""
        return module.__dict__.get(_ATTACHED)

    @staticmethod
    def detach(module: nn.Module) -> None:
        """Leave no trace."""
        module.__dict__.pop(_ATTACHED, None)

    def remember(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A hook before the forward pass: the first tensor given is what comes in."""
        given = (*args, kwargs.get("hidden_states"), *kwargs.values())
        self.inputs = next((each for each in given if isinstance(each, Tensor)), None)


_ATTACHED = "_semfocus_attention"


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
            output, info = reference_attention(
                call, lambda scores: score_clip * torch.tanh(scores / score_clip)
            )
        self.hear(inputs, info)
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
