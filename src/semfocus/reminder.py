"""Reminds of the pattern that a loaded Hugging Face model was saved with and does not use yet."""

import sys
import warnings
from collections.abc import Sequence
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

#: the entry of a config that remembers the choice, so that it is saved and loaded with the model
ENTRY = "semfocus"
_MODULE = "transformers.modeling_utils"


class Reminder:
    """A hook before the forward pass of a loaded model, until `apply` removes it; it warns once."""

    def __init__(self) -> None:
        self.has_warned = False

    def __call__(self, model: Any, args: tuple[Any, ...]) -> None:
        import torch

        if self.has_warned or torch.compiler.is_compiling():
            return
        self.has_warned = True
        warnings.warn(
            f"{type(model).__name__} was saved with {_patterns(model)} and is full attention until semfocus.apply(model) "
            "is called",
            stacklevel=2,
        )


def _patterns(model: Any) -> str:
    entry = getattr(model.config, ENTRY)
    texts = entry.get("patterns") if isinstance(entry, dict) else None
    return ", ".join(dict.fromkeys(text for text in texts or () if text)) or "a pattern"


def forget(model: Any) -> None:
    """No reminder for a model of which somebody knows."""
    for module in model.modules():
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, Reminder):
                del module._forward_pre_hooks[key]


def remind_of_loaded_models() -> None:
    """From now on; transformers is not imported for that, but met when it is."""
    if _MODULE in sys.modules:
        _wrap(sys.modules[_MODULE])
    else:
        sys.meta_path.insert(0, _Finder())


class _Finder:
    """Finds one module, as Python does, and once."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            _wrap(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _wrap(module: ModuleType) -> None:
    """`PreTrainedModel.from_pretrained` with a reminder for what it loads."""
    base = module.PreTrainedModel
    load = vars(base)["from_pretrained"].__func__
    if hasattr(load, "_reminds"):
        return

    @wraps(load)
    def from_pretrained(cls: Any, *args: Any, **options: Any) -> Any:
        loaded = load(cls, *args, **options)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        if getattr(getattr(model, "config", None), ENTRY, None) is not None:
            forget(model)
            model.register_forward_pre_hook(Reminder())
        return loaded

    from_pretrained._reminds = True  # type: ignore[attr-defined]
    base.from_pretrained = classmethod(from_pretrained)
