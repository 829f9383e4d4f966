"""Watching attention from outside: `capture` records what every attention call of a model computed."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from semfocus.mechanisms.call import AttentionCall, AttentionInfo, checked_call
from semfocus.mechanisms.dispatch import choose
from semfocus.mechanisms.pattern import Pattern
from semfocus.mechanisms.reference import changed, reference_attention

Listener = Callable[[Tensor, AttentionInfo], None]


class AttentionPoint:
    """A place where attention happens."""

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


@dataclass(frozen=True)
class Changes:
    """What a model does to its scores before the softmax, in this order, and a score that stands for no key.

    `factor`, broadcastable to the scores, is one that their gradient does not see: it passes as if the factor were 1.
    """

    softcap: float | None = None
    factor: Tensor | None = None
    bias: Tensor | None = None
    sink: Tensor | None = None

    @property
    def needs_reference(self) -> bool:
        """Whether no faster implementation knows them."""
        return self.factor is not None or self.sink is not None

    def of_scores(self, scores: Tensor, inverse_temperature: float) -> Tensor:
        """softcap * tanh(score / softcap), * factor, + bias; the temperature is that of the whole."""
        if self.factor is None:
            scores = changed(scores, self.softcap, self.bias)
        else:
            scores = changed(
                _TimesUnseen.apply(changed(scores, self.softcap, None), self.factor), None, self.bias
            )
        return scores if inverse_temperature == 1.0 else scores * inverse_temperature

    def into(self, call: AttentionCall, inverse_temperature: float) -> AttentionCall:
        """The call with softcap and bias, all of it at this temperature; what it has scaled is scaled by it, too."""
        softcap = None if self.softcap is None else self.softcap * inverse_temperature
        bias = self.bias
        if bias is not None and inverse_temperature != 1.0:
            bias = bias * inverse_temperature
        return replace(call, scale=call.scale * inverse_temperature, softcap=softcap, bias=bias)


class _TimesUnseen(torch.autograd.Function):
    """The product with a factor, whose gradient is handed back as it comes."""

    generate_vmap_rule = True

    @staticmethod
    def forward(scores: Tensor, factor: Tensor) -> Tensor:
        return scores * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient, None


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

    Weights, listeners, sinks and factors are served by the reference, with a matrix of all scores; every other call by
    the implementation that is asked for.
    """
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    call = checked_call(query, key, value, pattern, mask, causal, scale, dropout, enable_gqa, generator)
    if not (changes.needs_reference or need_weights or point.listeners):
        call = changes.into(call, inverse_temperature)
        return choose(call, implementation).run(call), None
    sink = None if changes.sink is None else changes.sink * inverse_temperature
    output, info = reference_attention(
        call, lambda scores: changes.of_scores(scores, inverse_temperature), sink
    )
    if point.listeners:
        if inputs is None:
            raise ValueError("a captured attention was called without any tensor")
        point.hear(inputs, info)
    return output, info.weights if need_weights else None


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
        score_factor: Tensor | None = None,
    ) -> Tensor:
        """`attention`, heard by the listeners; without any it is the bare function.

        Both on the reference, before the pattern chooses: `score_clip` limits the scaled scores to (-c, c), c
        tanh(score / c); `score_factor`, broadcastable to them, multiplies them without their gradient seeing it.
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
            # Not the kernel, which knows a softcap too: runs with a clip keep their bits, heard or not. Where tanh
            # saturates, scores are equal, and which of them are kept is decided by their last bit.
            implementation="reference"
            if score_clip is not None and implementation == "auto"
            else implementation,
            changes=Changes(softcap=score_clip, factor=score_factor),
        )
        return output


def attention_points(model: nn.Module) -> list[tuple[str, nn.Module, AttentionPoint]]:
    """Name, module and point of every attention of ours, in the order of `model.named_modules()`."""
    return [
        (name, module, point)
        for name, module in model.named_modules()
        if (point := module if isinstance(module, AttentionPoint) else AttachedPoint.of(module)) is not None
    ]


class AmbientAttention:
    """Attention of ours that belongs to no module: calls are heard with the module whose code made them."""

    def __init__(self) -> None:
        self.is_suspended = False
        self.listeners: tuple[Callable[[nn.Module | None, Tensor, AttentionInfo], None], ...] = ()

    def point(self, caller: nn.Module | None) -> AttentionPoint:
        """Where a call of this module is heard."""
        point = AttentionPoint()
        point.listeners = tuple(partial(each, caller) for each in self.listeners)
        return point

    @contextmanager
    def known(self) -> Iterator[None]:
        """`ambient_attentions` has it."""
        _AMBIENT.append(self)
        try:
            yield
        finally:
            _AMBIENT.remove(self)

    @contextmanager
    def suspended(self) -> Iterator[None]:
        """Calls go their own way."""
        before, self.is_suspended = self.is_suspended, True
        try:
            yield
        finally:
            self.is_suspended = before


_AMBIENT: list[AmbientAttention] = []


def ambient_attentions() -> list[AmbientAttention]:
    """Those that are open, outermost first."""
    return list(_AMBIENT)


def refuse_no_model(model: object, name: str) -> None:
    """The name or the config of a model are none yet."""
    if not isinstance(model, nn.Module):
        given = repr(model) if isinstance(model, str) else f"a {type(model).__name__}"
        raise ValueError(
            f"{name} takes a model, a torch.nn.Module, got {given}: load it first, such as with "
            "AutoModel.from_pretrained(name) or AutoModel.from_config(config)"
        )


@contextmanager
def capture(model: nn.Module) -> Iterator[list[AttentionTrace]]:
    """While open, every attention call of `model` runs on the reference and adds one trace to the list.

    Tensors are detached. Layers are numbered in the order of `model.named_modules()`; those of an open
    `semfocus.sdpa` after them, in the order in which they are first called.
    """
    refuse_no_model(model, "capture")
    points, ambient = attention_points(model), ambient_attentions()
    if not points and not ambient:
        raise ValueError(
            f"{type(model).__name__} has no attention by semfocus to capture: call semfocus.apply(model, Full()) first"
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
    around = _caller_recorder(traces, model, len(points))
    for each in ambient:
        each.listeners = (*each.listeners, around)
    try:
        yield traces
    finally:
        for hook in hooks:
            hook.remove()
        for each in ambient:
            each.listeners = tuple(listener for listener in each.listeners if listener is not around)
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


def _caller_recorder(
    traces: list[AttentionTrace], model: nn.Module, first: int
) -> Callable[[nn.Module | None, Tensor, AttentionInfo], None]:
    names = {id(module): name for name, module in model.named_modules()}
    layers: dict[int, int] = {}

    def record(caller: nn.Module | None, inputs: Tensor, info: AttentionInfo) -> None:
        if id(caller) in names:
            layer = layers.setdefault(id(caller), first + len(layers))
            _recorder(traces, layer, names[id(caller)])(inputs, info)

    return record
