"""A model that a Python file makes: `model()`, and if need be `loss(model, batch)`."""

import inspect
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from semfocus.runs.recipe_file import load_recipe, place_in
from semfocus.subjects.batch import Batch
from semfocus.subjects.subject import Subject, logits_of, loss_of
from semfocus.subjects.vocabulary import Vocabulary


class FileSubject(Subject):
    """The file may also say `vocab_size`, `max_length` and `pad_id`, which data are checked against.

    Without a `loss`, the model is called with the tokens, and with `attention_mask=` or `padding=` (True =
    real) where rows differ in length and its forward takes one of them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.module, self.digest = load_recipe(path, "model file")
        self.name = path.stem
        if not callable(getattr(self.module, "model", None)):
            raise ValueError(f"{path} defines no function model() that returns a torch module")
        self.is_cross_entropy = not self._has_loss
        self.vocabulary = Vocabulary(*(self._number(name) for name in ("vocab_size", "pad_id", "max_length")))

    def make(self) -> nn.Module:
        try:
            model = self.module.model()
        except Exception as error:
            raise ValueError(
                f"model() failed: {type(error).__name__}: {error}{place_in(error, self.path)}"
            ) from error
        if not isinstance(model, nn.Module):
            raise ValueError(f"model() in {self.path} must return a torch module, got {type(model).__name__}")
        return model

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        if self._has_loss:
            found = self.module.loss(model, batch)
        else:
            found = loss_of(self._called(model, batch), batch)
        if not isinstance(found, torch.Tensor) or found.dim() != 0:
            raise ValueError(
                f"loss(model, batch) in {self.path} must return a tensor with one number, got {found!r}"[:200]
            )
        return found

    def arguments(self, model: nn.Module, batch: Batch) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        return None if self._has_loss else self._arguments(model, batch)

    def class_logits(self, model: nn.Module, batch: Batch) -> Tensor | None:
        logits = None if self._has_loss else logits_of(self._called(model, batch))
        return logits if isinstance(logits, Tensor) and logits.dim() == 2 else None

    def next_logits(self, model: nn.Module, tokens: Tensor) -> Tensor | None:
        try:
            return super().next_logits(model, tokens)
        except Exception:
            if self._has_loss:  # which may call the model in its own way
                return None
            raise

    def place_of(self, error: BaseException) -> str:
        return place_in(error, self.path)

    @property
    def _has_loss(self) -> bool:
        return getattr(self.module, "loss", None) is not None

    def _called(self, model: nn.Module, batch: Batch) -> object:
        args, named = self._arguments(model, batch)
        return model(*args, **named)

    def _arguments(self, model: nn.Module, batch: Batch) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if batch.real is None:
            return (batch.tokens,), {}
        known = inspect.signature(model.forward).parameters
        name = next((each for each in ("attention_mask", "padding") if each in known), None)
        if name is None:
            raise ValueError(
                f"rows differ in length, and the model of {self.path} takes neither attention_mask nor padding: "
                "define loss(model, batch), where batch.real is False at padding"
            )
        return (batch.tokens,), {name: batch.real}

    def _number(self, name: str) -> int | None:
        value = getattr(self.module, name, None)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ValueError(f"{name} in {self.path} must be a whole number, got {value!r}")
        return value
