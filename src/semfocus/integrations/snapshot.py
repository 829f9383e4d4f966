"""What the modules of a model were, so that a failure half way leaves no trace."""

from torch import nn


class Snapshot:
    """Class, attributes and hooks before the forward pass of every module; their values are not copied."""

    def __init__(self, model: nn.Module) -> None:
        self._modules = [
            (module, type(module), dict(vars(module)), dict(module._forward_pre_hooks))
            for module in model.modules()
        ]

    def put_back(self) -> None:
        for module, cls, attributes, hooks in self._modules:
            module.__class__ = cls
            vars(module).clear()
            vars(module).update(attributes)
            module._forward_pre_hooks.clear()
            module._forward_pre_hooks.update(hooks)
