"""The first forward pass after `apply` is watched: attention that nobody switched stops it."""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import nn

from semfocus.integrations.foreign_attention import AttentionWatch
from semfocus.kernels.onlookers import is_dispatched, is_transformed


class FirstPass:
    """Hooks of the model that `apply` was called on; one pass in training and one in evaluation are watched.

    Reading code finds attention that is written in a known way. Whatever way it is written in, it has to multiply when
    it runs. A pass computes the same under the watch, slower; while somebody traces or compiles, nothing is watched.
    """

    def __init__(self) -> None:
        self._passed: set[tuple[int, bool]] = set()
        self._open: tuple[int, int, AttentionWatch] | None = None

    def attach(self, model: nn.Module) -> None:
        model.register_forward_pre_hook(self.begin)
        model.register_forward_hook(self.end, always_call=True)

    @staticmethod
    def detach(model: nn.Module) -> None:
        """Leave no trace."""
        for hooks in (model._forward_pre_hooks, model._forward_hooks):
            for key, hook in list(hooks.items()):
                if isinstance(getattr(hook, "__self__", None), FirstPass):
                    del hooks[key]
                    model._forward_hooks_always_called.pop(key, None)

    @staticmethod
    def _of(model: nn.Module) -> tuple[int, bool]:
        return id(model), model.training

    def begin(self, model: nn.Module, args: tuple[Any, ...]) -> None:
        if torch.compiler.is_compiling() or self._open is not None or self._of(model) in self._passed:
            return
        if torch.jit.is_tracing() or is_transformed() or is_dispatched():  # type: ignore[attr-defined]
            return
        if not _IS_WATCHED.get():
            return
        watch = AttentionWatch(model)
        watch.__enter__()
        self._open = threading.get_ident(), id(model), watch

    def end(self, model: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        if torch.compiler.is_compiling() or self._open is None:
            return
        *opened_by, watch = self._open
        if opened_by != [threading.get_ident(), id(model)]:
            return
        self._open = None
        watch.__exit__(None, None, None)
        if output is None:  # the pass failed, and says so itself
            return
        if watch.found:
            raise ValueError(refusal(type(model).__name__, watch))
        self._passed.add(self._of(model))
        if watch.unseen:
            warnings.warn(
                f"{type(model).__name__} calls {', '.join(watch.unseen)}, and semfocus cannot see whether there is "
                "attention inside, which would not be switched",
                stacklevel=2,
            )


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
    more = f", and {len(watch.found) - 1} more" if len(watch.found) > 1 else ""
    return (
        f"{name} is switched in part only: {watch.found[0]}{more}. semfocus.restore(model) undoes the switch; "
        "semfocus.apply(part, ...) switches a part of the model and leaves the rest as it is; "
        "`with semfocus.sdpa(...)` serves calls of F.scaled_dot_product_attention"
    )
