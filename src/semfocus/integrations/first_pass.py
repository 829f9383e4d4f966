"""The first forward pass after `apply` is watched: attention that nobody switched stops it."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import torch
from torch import nn

from semfocus.integrations.foreign_attention import AttentionWatch
from semfocus.kernels.onlookers import is_dispatched, is_transformed

_CONTAINERS = (nn.ModuleList, nn.ModuleDict)


class FirstPass:
    """Hooks of a model and all its parts; of each, one pass in training and one in evaluation are watched.

    Reading code finds attention that is written in a known way. Whatever way it is written in, it has to multiply when
    it runs. A pass computes the same under the watch, slower. The outermost module that is called opens the watch, and
    what it calls has passed with it; a part that only a later call reaches, or that came later, is watched then. While
    somebody traces or compiles, nothing can be watched, which is said once.
    """

    def __init__(self, *, is_of_block: bool = False) -> None:
        #: of `sdpa`, which switches nothing
        self._is_of_block = is_of_block
        #: the modes in which a module has passed
        self._passed: WeakKeyDictionary[nn.Module, set[bool]] = WeakKeyDictionary()
        self._open: tuple[int, int, AttentionWatch] | None = None
        self._inside: list[nn.Module] = []
        self._has_warned = False
        #: a text, which a compiler takes for a constant; whole numbers may be sizes to it
        self._name = hex(id(self))
        _FIRST_PASSES[self._name] = self

    def __getstate__(self) -> dict[str, Any]:
        return {}  # a copy of a model is another model

    def __setstate__(self, state: dict[str, Any]) -> None:
        FirstPass.__init__(self)

    def attach(self, model: nn.Module) -> None:
        for module in model.modules():
            if not isinstance(module, torch.jit.ScriptModule) and not self._is_attached(module):
                module.register_forward_pre_hook(self.begin)
                module.register_forward_hook(self.end, always_call=True)

    def _is_attached(self, module: nn.Module) -> bool:
        return any(getattr(hook, "__self__", None) is self for hook in module._forward_pre_hooks.values())

    @staticmethod
    def detach(model: nn.Module) -> None:
        """Leave no trace."""
        for module in model.modules():
            for hooks in (module._forward_pre_hooks, module._forward_hooks):
                for key, hook in list(hooks.items()):
                    if is_watching(hook):
                        del hooks[key]
                        module._forward_hooks_always_called.pop(key, None)

    def has_passed(self, module: nn.Module) -> bool:
        return module in self._passed

    def begin(self, model: nn.Module, args: tuple[Any, ...]) -> None:
        if torch.compiler.is_compiling():
            _say_that_nothing_is_watched(self._name, type(model).__name__)
            return
        if (
            type(model).__name__ == "OptimizedModule"
        ):  # the compiler, which must not trace the watch, is about to run
            return
        if self._is_attached(model):  # and does not hear of all modules, as in `sdpa`
            self._attach_new(model)
        if self._open is not None:
            if self._open[0] == threading.get_ident():
                self._inside.append(model)
            return
        if model.training in self._passed.get(model, ()) or not _IS_WATCHED.get():
            return
        if torch.jit.is_tracing() or is_transformed() or is_dispatched():  # type: ignore[attr-defined]
            _say_that_nothing_is_watched(self._name, type(model).__name__)
            return
        watch = AttentionWatch(model)
        watch.__enter__()
        self._open, self._inside = (threading.get_ident(), id(model), watch), [model]

    def _attach_new(self, model: nn.Module) -> None:
        """Parts that somebody added since; what holds parts in a list is never called itself."""
        for part in model._modules.values():
            if isinstance(part, _CONTAINERS):
                self._attach_new(part)
            elif part is not None and not self._is_attached(part):
                self.attach(part)

    def end(self, model: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if torch.compiler.is_compiling() or self._open is None:
            return
        *opened_by, watch = self._open
        if opened_by != [threading.get_ident(), id(model)]:
            return
        self._open = None
        inside, self._inside = self._inside, []
        watch.__exit__(None, None, None)
        if output is None:  # the pass failed, and says so itself
            return
        if watch.found:
            words = refusal_in_a_block if self._is_of_block else refusal
            raise ValueError(words(type(model).__name__, watch))
        if not watch.single:  # a longer sequence will show what that is
            for module in inside:
                self._passed.setdefault(module, set()).add(module.training)
        if watch.unseen:
            warnings.warn(
                f"{type(model).__name__} calls {', '.join(watch.unseen)}, and semfocus cannot see whether there is "
                "attention inside, which would not be switched",
                stacklevel=2,
            )

    def warn(self, name: str) -> None:
        """Of a first pass that cannot be watched."""
        if not self._has_warned and not self._passed and _IS_WATCHED.get():
            self._has_warned = True
            warnings.warn(
                f"{name} is compiled, traced or transformed before its first plain forward pass, so that semfocus could "
                "not watch it for attention that is not switched: call it once before, or run semfocus.check",
                stacklevel=3,
            )


def is_watching(hook: Any) -> bool:
    """Whether a hook is one of these."""
    return isinstance(getattr(hook, "__self__", None), FirstPass)


_FIRST_PASSES: WeakValueDictionary[str, FirstPass] = WeakValueDictionary()


def _say_that_nothing_is_watched(first: str, name: str) -> bool:
    if first in _FIRST_PASSES:
        _FIRST_PASSES[first].warn(name)
    return False


#: the compiler calls it while it traces and keeps what it returns, instead of tracing the warning
_say_that_nothing_is_watched._dynamo_marked_constant = True  # type: ignore[attr-defined]


#: False while somebody looks closer, and reports instead
_IS_WATCHED = ContextVar("semfocus_is_watched", default=True)


@contextmanager
def unwatched() -> Iterator[None]:
    """First passes are not watched here, and stay to be watched."""
    token = _IS_WATCHED.set(False)
    try:
        yield
    finally:
        _IS_WATCHED.reset(token)


def refusal(name: str, watch: AttentionWatch) -> str:
    """What was found, and what can be done."""
    return (
        f"{name} is switched in part only: {_first_of(watch)}. semfocus.restore(model) undoes the switch; "
        "semfocus.apply(part, ...) switches a part of the model and leaves the rest as it is; "
        "`with semfocus.sdpa(...)` serves calls of F.scaled_dot_product_attention"
    )


def refusal_in_a_block(name: str, watch: AttentionWatch) -> str:
    """The same for what `sdpa` does not serve."""
    return (
        f"{name} has attention that semfocus.sdpa does not serve: {_first_of(watch)}. It serves calls of "
        "F.scaled_dot_product_attention in its own thread: make one of it, or call semfocus.attention there; "
        "semfocus.apply(model, ...) switches nn.MultiheadAttention"
    )


def _first_of(watch: AttentionWatch) -> str:
    more = f", and {len(watch.found) - 1} more" if len(watch.found) > 1 else ""
    return f"{watch.found[0]}{more}"
