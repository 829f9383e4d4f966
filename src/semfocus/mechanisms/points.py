"""Places where attention happens, whose listeners hear of every call."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from semfocus.mechanisms.call import AttentionInfo

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
