"""Switching an existing model to a pattern in place, and back."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import overload

from torch import nn

from semfocus.integrations.discovery import Found, find_attentions
from semfocus.integrations.first_pass import FirstPass
from semfocus.integrations.hugging_face.models import (
    HuggingFaceUndo,
    check_attention,
    keep_choice,
    remembered,
    switch_attentions,
)
from semfocus.integrations.selection import (
    Layers,
    checked_inverse_temperature,
    counts_positions,
    patterns_of_layers,
)
from semfocus.integrations.torch.modules import TorchUndo, check_module, switch_encoders, switch_module
from semfocus.integrations.torch.multihead import MultiheadAttention
from semfocus.mechanisms import AttachedPoint, Full, Pattern
from semfocus.mechanisms.observation import ambient_attentions, refuse_no_model
from semfocus.reminder import forget
from semfocus.words import count_of


@dataclass(frozen=True)
class AppliedLayer:
    """One attention module that was switched: its number and name in the model, and its pattern."""

    layer: int
    name: str
    pattern: Pattern


@dataclass(frozen=True, repr=False)
class Applied(Sequence[AppliedLayer]):
    """The layers that were switched, in the order of `model.named_modules()`."""

    layers: tuple[AppliedLayer, ...]
    num_attentions: int
    inverse_temperature: float

    @overload
    def __getitem__(self, index: int) -> AppliedLayer: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[AppliedLayer]: ...
    def __getitem__(self, index: int | slice) -> AppliedLayer | Sequence[AppliedLayer]:
        return self.layers[index]

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator[AppliedLayer]:
        return iter(self.layers)

    def __repr__(self) -> str:
        sharper = (
            "" if self.inverse_temperature == 1.0 else f" at inverse temperature {self.inverse_temperature}"
        )
        found = f"{count_of(self.num_attentions, 'attention layer')} found"
        switched = "all" if len(self) == self.num_attentions else str(len(self))
        lines = [
            f"{found}, {switched} switched{sharper}; semfocus.check(model, ...) tests that by running the model"
        ]
        width = max((len(str(each.pattern)) for each in self.layers), default=0)
        lines += [f"  {each.layer:>3}  {each.pattern!s:<{width}}  {each.name}" for each in self.layers]
        return "\n".join(lines)


class Snapshot:
    """Class, attributes and hooks around the forward pass of every module; their values are not copied."""

    _HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_forward_hooks_always_called")

    def __init__(self, model: nn.Module) -> None:
        self._modules = [
            (module, type(module), dict(vars(module)), [dict(vars(module)[name]) for name in self._HOOKS])
            for module in model.modules()
        ]

    def put_back(self) -> None:
        for module, cls, attributes, hooks in self._modules:
            module.__class__ = cls
            vars(module).clear()
            vars(module).update(attributes)
            for name, before in zip(self._HOOKS, hooks, strict=True):
                vars(module)[name].clear()
                vars(module)[name].update(before)


_UNDO = "_semfocus_undo"


@dataclass
class _Undo:
    """How to take back one `apply`; data, not functions, so that a copy of the model can be restored too."""

    patterns: list[Pattern | None]
    inverse_temperature: float
    torch: TorchUndo = field(default_factory=TorchUndo)
    hugging_face: HuggingFaceUndo = field(default_factory=HuggingFaceUndo)

    def run(self) -> None:
        self.torch.run()
        self.hugging_face.run()


def apply(
    model: nn.Module,
    pattern: Pattern | str | None = None,
    layers: Layers = None,
    inverse_temperature: float = 1.0,
) -> Applied:
    """Switch the attention of a model to a pattern, in place; `restore(model)` undoes it.

    model: any module with nn.MultiheadAttention inside (nn.TransformerEncoder, nn.TransformerDecoder ...), or with
    attention of transformers that goes through its attention interface. Parameters stay the same tensors. A model
    with an attention that cannot be switched is refused with a ValueError and left as it was.
    pattern: a Pattern or its text; without one, the choice that the config of a loaded model remembers.
    layers: numbers of the attention layers to switch, in the order of `model.named_modules()` as in `capture`, or a
    pattern for each number; the others stay full attention.
    inverse_temperature: multiplies all scores of the switched layers.

    Modules are found by their code. The first forward pass in training and in evaluation is watched too: if it meets
    attention that was not found, it raises a ValueError with the line of code. `check` looks closer.

    Applying again replaces the earlier choice. Returns what was switched.

    >>> encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, batch_first=True), 2)
    >>> apply(encoder, "top_k(4)")
    2 attention layers found, all switched; semfocus.check(model, ...) tests that by running the model
        0  top_k(4)  layers.0.self_attn
        1  top_k(4)  layers.1.self_attn
    >>> restore(encoder)
    """
    refuse_no_model(model, "apply")
    found = find_attentions(model)
    if pattern is None and layers is None:
        patterns, inverse_temperature = remembered(model, len(found))
    else:
        patterns = patterns_of_layers(pattern, layers, len(found))
        inverse_temperature = checked_inverse_temperature(inverse_temperature)
    _check(model, found, patterns)
    _apply(model, found, patterns, inverse_temperature)
    switched = tuple(
        AppliedLayer(layer, each.name, pattern)
        for layer, (each, pattern) in enumerate(zip(found, patterns, strict=True))
        if pattern is not None
    )
    return Applied(switched, len(found), inverse_temperature)


def _apply(
    model: nn.Module, found: list[Found], patterns: list[Pattern | None], inverse_temperature: float
) -> None:
    before = Snapshot(model)
    try:
        if _UNDO in vars(model):
            restore(model)
        undo = vars(model)[_UNDO] = _Undo(patterns, inverse_temperature)
        _switch(model, found, undo)
        FirstPass().attach(model)
        forget(model)
    except BaseException:
        before.put_back()
        raise


@contextmanager
def as_it_came(model: nn.Module) -> Iterator[None]:
    """A switched model without its switch for a while, and without what is open around it."""
    with ExitStack() as stack:
        for ambient in ambient_attentions():
            stack.enter_context(ambient.suspended())
        if not is_switched(model):
            yield
            return
        stack.enter_context(_restored(model))
        yield


@contextmanager
def _restored(model: nn.Module) -> Iterator[None]:
    """The same points and configs come back, whatever happened to the model meanwhile."""
    before = Snapshot(model)
    try:
        restore(model)
        yield
    finally:
        before.put_back()


def is_applied(module: nn.Module) -> bool:
    """Whether `apply` was called on this very module."""
    return _UNDO in vars(module)


def is_switched(model: nn.Module) -> bool:
    """Whether `apply` was called on this module, or on one inside it."""
    return any(_UNDO in vars(module) for module in model.modules())


def restore(model: nn.Module) -> None:
    """Undo `apply` on this module, or on modules inside it."""
    refuse_no_model(model, "restore")
    switched = [module for module in model.modules() if _UNDO in vars(module)]
    if not switched:
        raise ValueError(
            f"nothing to restore: semfocus.apply was not called on this {type(model).__name__}, or is undone already; "
            "if it was called on a model around this one, restore that"
        )
    for module in switched:
        vars(module)[_UNDO].torch.refuse()
    for module in switched:
        vars(module).pop(_UNDO).run()
        FirstPass.detach(module)


def _check(model: nn.Module, found: list[Found], patterns: list[Pattern | None]) -> None:
    """Refuse before anything is changed."""
    _refuse_cross_attention(found, patterns)
    before = vars(model)[_UNDO].torch if _UNDO in vars(model) else TorchUndo()
    for each, pattern in zip(found, patterns, strict=True):
        if each.kind == "torch":
            # A layer that is left out is full attention of ours.
            check_module(each.name, each.module, pattern or Full(), before)
        elif pattern is not None:
            check_attention(each, pattern)
    inside = [module for module in model.modules() if module is not model and _UNDO in vars(module)]
    if inside:
        raise ValueError(
            f"semfocus.apply was called on a part of this model ({type(inside[0]).__name__}); restore it first"
        )
    foreign = _UNDO not in vars(model) and any(AttachedPoint.of(each.module) is not None for each in found)
    if foreign:
        raise ValueError("semfocus.apply was called on a model around this part; restore that one first")


def _refuse_cross_attention(found: list[Found], patterns: list[Pattern | None]) -> None:
    """Positions of two sequences have nothing to do with each other."""
    for each, pattern in zip(found, patterns, strict=True):
        if each.is_cross and pattern is not None and counts_positions(pattern):
            others = [layer for layer, other in enumerate(found) if not other.is_cross]
            raise ValueError(
                f"{pattern} counts positions, and {each.name} ({type(each.module).__name__}) attends from one sequence "
                f"to another: give layers={others}, or a pattern of scores such as TopK(5)"
            )


def _switch(model: nn.Module, found: list[Found], undo: _Undo) -> None:
    patterns, inverse_temperature = undo.patterns, undo.inverse_temperature
    pairs = list(zip(found, patterns, strict=True))
    for each, pattern in pairs:
        if each.kind == "torch" and pattern is not None:
            switch_module(each.module, pattern, inverse_temperature, undo.torch)
        elif each.kind == "torch" and not isinstance(each.module, MultiheadAttention):
            # Full attention of ours, so that it is a layer for `capture` too.
            switch_module(each.module, Full(), 1.0, undo.torch)
    switch_encoders(model, undo.torch)
    undo.hugging_face.configs.take(model)
    of_transformers = [pair for pair in pairs if pair[0].kind == "hugging_face"]
    if of_transformers:
        attentions, chosen = zip(*of_transformers, strict=True)
        switch_attentions(model, attentions, chosen, inverse_temperature, undo.hugging_face)
    keep_choice(model, patterns, inverse_temperature)
    undo.hugging_face.configs.note()
