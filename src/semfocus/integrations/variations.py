"""The inputs of a model, and what can be changed in them to learn about it."""

import inspect
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

#: what holds the tokens whose later ones a causal model must not see, the first that is there
_SEQUENCES = ("decoder_input_ids", "tgt", "input_ids", "inputs_embeds", "src")
_PADDING = 3


@dataclass(frozen=True)
class Inputs:
    """Arguments of a forward pass."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def given_to(self, model: nn.Module) -> Any:
        return model(*self.args, **self.kwargs)

    def and_also(self, **changes: Any) -> "Inputs":
        return Inputs(self.args, self.kwargs | changes)

    def in_single_precision(self) -> "Inputs":
        """Where they are half precision."""
        halves = (torch.float16, torch.bfloat16)

        def widened(value: Any) -> Any:
            return value.float() if isinstance(value, Tensor) and value.dtype in halves else value

        return Inputs(
            tuple(map(widened, self.args)), {key: widened(each) for key, each in self.kwargs.items()}
        )

    def real(self) -> Tensor | None:
        """Which tokens are no padding, if the inputs say so."""
        mask = self.kwargs.get("attention_mask")
        return mask.bool() if isinstance(mask, Tensor) and mask.dim() == 2 else None

    def length(self) -> int | None:
        sequence = self._sequence()
        return None if sequence is None else sequence.shape[1]

    def _sequence(self) -> Tensor | None:
        """(batch, length) or (batch, length, features)."""
        first = self.args[0] if self.args else None
        given = [*(self.kwargs.get(name) for name in _SEQUENCES), first]
        return next((each for each in given if isinstance(each, Tensor) and each.dim() in (2, 3)), None)

    def with_halves_changed(self) -> "tuple[int, Inputs, Inputs] | None":
        """Where the second half begins, and the inputs with other tokens in the first and in the second."""
        sequence = self._sequence()
        if sequence is None or sequence.shape[1] < 4:
            return None
        start = sequence.shape[1] // 2
        halves = []
        for here, there in ((slice(start), slice(start, None)), (slice(start, None), slice(start))):
            changed = sequence.clone()
            if sequence.is_floating_point():
                changed[:, here] = -2 * sequence[:, here]
            else:  # ids that the sequence has, so that none is out of range or special
                changed[:, here] = sequence[:, there].repeat(1, 2)[:, : changed[:, here].shape[1]].flip(1)
            if torch.equal(changed, sequence):
                return None
            halves.append(self._with_sequence(sequence, changed))
        first, second = halves
        return start, first, second

    def _with_sequence(self, old: Tensor, new: Tensor) -> "Inputs":
        kwargs = {key: new if value is old else value for key, value in self.kwargs.items()}
        return Inputs(tuple(new if each is old else each for each in self.args), kwargs)

    def padded(self, side: str, model: Any) -> "Inputs | None":
        """With some tokens of padding and a mask; None for any but input_ids alone."""
        ids = self._lonely_ids(model)
        if ids is None:
            return None
        config = getattr(model, "config", None)
        longest = getattr(config, "max_position_embeddings", None)
        if isinstance(longest, int) and ids.shape[1] + _PADDING > longest:
            return None
        padding = ids.new_full((len(ids), _PADDING), getattr(config, "pad_token_id", None) or 0)
        mask = torch.ones_like(ids)
        parts = [(padding, torch.zeros_like(padding)), (ids, mask)]
        together = [torch.cat(each, 1) for each in zip(*parts[:: 1 if side == "left" else -1], strict=True)]
        return Inputs((), {"input_ids": together[0], "attention_mask": together[1]})

    def in_two(self, model: Any) -> "tuple[Inputs, Inputs] | None":
        """The first part, which makes a cache, and the second, which uses it."""
        ids = self._lonely_ids(model)
        if ids is None or ids.shape[1] < 4 or not _takes(model, "past_key_values"):
            return None
        first, second = ids.split([ids.shape[1] - 2, 2], 1)
        return Inputs((), {"input_ids": first, "use_cache": True}), Inputs((), {"input_ids": second})

    def _lonely_ids(self, model: Any) -> Tensor | None:
        """input_ids, where there is nothing else but a mask that hides nothing."""
        real, others = self.real(), self.kwargs.keys() - {"input_ids", "attention_mask"}
        ids = self.kwargs.get("input_ids", self.args[0] if self.args else None)
        if others or len(self.args) > 1 or (real is not None and not real.all()):
            return None
        is_text = isinstance(ids, Tensor) and ids.dim() == 2 and not ids.is_floating_point()
        return ids if is_text and _takes(model, "input_ids") and _takes(model, "attention_mask") else None


def without_labels(inputs: Inputs, model: Any) -> Inputs:
    """Labels must be as long as the tokens; an encoder-decoder makes the decoder's tokens of them."""
    if getattr(getattr(model, "config", None), "is_encoder_decoder", False) or not hasattr(model, "config"):
        return inputs
    return Inputs(inputs.args, {key: value for key, value in inputs.kwargs.items() if key != "labels"})


def _takes(model: Any, name: str) -> bool:
    return name in inspect.signature(model.forward).parameters
