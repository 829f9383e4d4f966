"""Reminds of the pattern that the config of a Hugging Face model has and the model does not use yet."""

import json
import sys
import warnings
from collections.abc import Sequence
from functools import wraps
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any
from uuid import uuid4

#: the entry of a config that remembers the choice, so that it is saved and loaded with the model
ENTRY = "semfocus"
_MODULE = "transformers.modeling_utils"


class Reminder:
    """A hook before the forward pass of a loaded model and of the models inside it, until `apply` removes it.

    All that share a key warn once, also while a compiler traces.
    """

    def __init__(self, words: str, key: str) -> None:
        self.words, self.key = words, key

    def __call__(self, model: Any, args: tuple[Any, ...]) -> None:
        _warn_once(self.key, self.words)


#: the reminders that were heard
_HEARD: set[str] = set()


def _warn_once(key: str, words: str) -> bool:
    if key not in _HEARD:
        _HEARD.add(key)
        warnings.warn(words, stacklevel=3)
    return False


#: the compiler calls it while it traces and keeps what it returns, instead of tracing the warning
_warn_once._dynamo_marked_constant = True  # type: ignore[attr-defined]


def _words(model: Any, source: Any, options: dict[str, Any]) -> str | None:
    """What to say of a loaded model, if its own config or that of the whole model it was part of has an entry."""
    name = type(model).__name__
    entry = getattr(getattr(model, "config", None), ENTRY, None)
    if entry is not None:
        return f"{name} was saved with {_patterns(entry)} and is full attention until semfocus.apply(model) is called"
    entry = _saved(source, options).get(ENTRY)
    if entry is not None:
        return (
            f"{name} is a part of a model that was saved with {_patterns(entry)}, and is full attention until "
            "semfocus.apply(model, pattern) is called"
        )
    return None


def _saved(source: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The config in a folder that a model was loaded from."""
    try:
        text = Path(source, options.get("subfolder") or "", "config.json").read_text(encoding="utf-8")
        config = json.loads(text)
    except (OSError, TypeError, ValueError):
        return {}
    return config if isinstance(config, dict) else {}


def _words_of_built(model: Any, entry: Any) -> str:
    """What to say of a model that was built from its config, whose weights may be loaded into it later."""
    return (
        f"the config of {type(model).__name__} remembers {_patterns(entry)}, and the model is full attention until "
        "semfocus.apply(model) is called"
    )


def _patterns(entry: Any) -> str:
    texts = entry.get("patterns") if isinstance(entry, dict) else None
    return ", ".join(dict.fromkeys(text for text in texts or () if text)) or "a pattern"


def forget(model: Any) -> None:
    """No reminder for a model of which somebody knows."""
    for module in model.modules():
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, Reminder):
                del module._forward_pre_hooks[key]


def _attach(reminder: Reminder, model: Any, base: Any) -> None:
    """To a model and all models inside it, which may be called alone."""
    forget(model)
    for module in model.modules():
        if isinstance(module, base):
            module.register_forward_pre_hook(reminder)


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
    """`PreTrainedModel` with a reminder for what `from_pretrained` loads, and for what is built from a config."""
    base = module.PreTrainedModel
    load, initialise = vars(base)["from_pretrained"].__func__, base.__init__
    if hasattr(load, "_reminds"):
        return

    @wraps(load)
    def from_pretrained(cls: Any, *args: Any, **options: Any) -> Any:
        loaded = load(cls, *args, **options)
        model = loaded[0] if isinstance(loaded, tuple) else loaded
        words = _words(model, args[0] if args else options.get("pretrained_model_name_or_path"), options)
        if words is not None:
            _attach(Reminder(words, uuid4().hex), model, base)
        return loaded

    @wraps(initialise)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        initialise(self, *args, **options)
        entry = getattr(self.config, ENTRY, None)
        if entry is not None:  # once for each entry: models inside have the same config, or a copy
            self.register_forward_pre_hook(Reminder(_words_of_built(self, entry), str(entry)))

    from_pretrained._reminds = True  # type: ignore[attr-defined]
    base.from_pretrained = classmethod(from_pretrained)
    base.__init__ = __init__
