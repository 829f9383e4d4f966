"""Switching nn.MultiheadAttention in place: the module stays, with its parameters and hooks; its class changes."""

from dataclasses import dataclass, field
from types import MethodType
from typing import Any

from torch import nn

from semfocus.integrations.first_pass import is_watching
from semfocus.integrations.torch.multihead import MultiheadAttention, check_pattern
from semfocus.mechanisms import Pattern

_HOOKS = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
_OURS = ("pattern", "inverse_temperature", "_qkv_same_embed_dim")
#: where accelerate keeps the forward of a class, beside a module and, once its wrapper is gone, on it
_KEPT_FORWARDS = ("forward", "_old_forward")


@dataclass
class TorchUndo:
    """What to put back."""

    modules: list[tuple[nn.Module, type[nn.Module], dict[str, Any]]] = field(default_factory=list)
    encoders: list[tuple[nn.TransformerEncoder, bool]] = field(default_factory=list)

    def refuse(self) -> None:
        """What cannot be undone, before anything is."""
        for module, _, _ in self.modules:
            if type(module) is not MultiheadAttention:
                raise ValueError(
                    f"a switched attention was made a {type(module).__name__} after semfocus.apply: take that back first, "
                    "such as with torch.nn.utils.parametrize.remove_parametrizations"
                )

    def run(self) -> None:
        for module, cls, values in self.modules:
            _set_class(module, cls)
            for name in _OURS:
                module.__dict__.pop(name, None)
            module.__dict__.update(values)
        for encoder, used in self.encoders:
            encoder.use_nested_tensor = used


def check_module(name: str, module: nn.Module, pattern: Pattern, undo: TorchUndo) -> None:
    """Refuse before anything is changed. undo: what to put back of an earlier switch."""
    assert isinstance(module, nn.MultiheadAttention)
    check_pattern(module, pattern)
    came_as = next((cls for each, cls, _ in undo.modules if each is module), type(module))
    if came_as is nn.MultiheadAttention and _has_additions(module.out_proj):
        raise ValueError(
            f"{name or 'the model itself'} has hooks or an adapter on out_proj, which nn.MultiheadAttention takes the "
            "weights of and never calls: they would count after semfocus.apply and did not before; remove them first"
        )


def _has_additions(projection: nn.Module) -> bool:
    """Whether to call a projection may be more than a product with its weight."""
    if type(projection).forward is not nn.Linear.forward:
        return True
    if "forward" in vars(projection) and not keeps_own_forward(projection):
        return True  # accelerate's moves weights only
    hooks = (vars(projection)[name].values() for name in _HOOKS)
    return any(not is_watching(hook) for each in hooks for hook in each)


def switch_module(module: nn.Module, pattern: Pattern, inverse_temperature: float, undo: TorchUndo) -> None:
    """From now on the module attends under the pattern."""
    values = {name: module.__dict__[name] for name in _OURS if name in module.__dict__}
    undo.modules.append((module, type(module), values))
    _set_class(module, MultiheadAttention)
    # Else nn.TransformerEncoderLayer would go past the module in evaluation, and compute full attention.
    module.__dict__.update(
        pattern=pattern, inverse_temperature=inverse_temperature, _qkv_same_embed_dim=False
    )


def _set_class(module: nn.Module, cls: type[nn.Module]) -> None:
    """With the forward of that class wherever the module holds that of its present one."""
    for name in _KEPT_FORWARDS:
        if _holds_own_forward(module, name):
            module.__dict__[name] = MethodType(cls.forward, module)
    module.__class__ = cls


def keeps_own_forward(module: nn.Module) -> bool:
    """Whether a forward that was put on a module is that of its class, or a wrapper of accelerate's around it."""
    return any(_holds_own_forward(module, name) for name in _KEPT_FORWARDS)


def _holds_own_forward(module: nn.Module, name: str) -> bool:
    held = vars(module).get(name)
    return isinstance(held, MethodType) and held.__self__ is module and held.__func__ is type(module).forward


def switch_encoders(model: nn.Module, undo: TorchUndo) -> None:
    """An encoder built around stock attention would hand its layers nested tensors."""
    for encoder in model.modules():
        if isinstance(encoder, nn.TransformerEncoder) and any(
            isinstance(module, MultiheadAttention) for module in encoder.modules()
        ):
            undo.encoders.append((encoder, encoder.use_nested_tensor))
            encoder.use_nested_tensor = False
