"""Texts and symbols as the token ids of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_BYTES = 256


@dataclass(frozen=True)
class Vocabulary:
    """What a model says about its tokens; None where it does not say."""

    size: int | None = None
    pad_id: int | None = None
    max_length: int | None = None
    tokenizer: Any = None
    #: of an encoder-decoder: what ends every sequence, and what its decoder begins with
    eos_id: int | None = None
    start_id: int | None = None

    @property
    def name(self) -> str:
        return "bytes" if self.tokenizer is None else "the model's tokenizer"

    def of_text(self, text: str) -> list[int]:
        """By the tokenizer, or byte by byte."""
        if self.tokenizer is not None:
            return list(self.tokenizer(text, truncation=False, verbose=False)["input_ids"])
        self.require(_BYTES, "bytes")
        return self.of_indices(list(text.encode("utf-8", "replace")))

    def of_target(self, text: str) -> list[int]:
        """A text to write; some models have a vocabulary of its own for it."""
        if self.tokenizer is None:
            return self.of_text(text)
        return list(self.tokenizer(text_target=text, truncation=False, verbose=False)["input_ids"])

    def of_indices(self, indices: Sequence[int]) -> list[int]:
        """Numbers from 0 on, passing over ids with a meaning of their own."""
        found = list(indices)
        for reserved in self._reserved:
            found = [each if each < reserved else each + 1 for each in found]
        return found

    def ended(self, ids: Sequence[int]) -> list[int]:
        """With the end of a sequence last, where the model has one."""
        if self.eos_id is None or (ids and ids[-1] == self.eos_id):
            return list(ids)
        return [*ids, self.eos_id]

    def cut(self, ids: Sequence[int], limit: int | None) -> list[int]:
        """To so many, the end of the sequence among them."""
        return (
            list(ids)
            if limit is None or len(ids) <= limit
            else self.ended(ids[: limit - (self.eos_id is not None)])
        )

    @property
    def _reserved(self) -> list[int]:
        return sorted({each for each in (self.pad_id, self.eos_id, self.start_id) if each is not None})

    def shown(self, token: int) -> str:
        """A token as somebody may read it: its piece, or its number, as nobody knows whether it was a byte."""
        return str(token) if self.tokenizer is None else str(self.tokenizer.convert_ids_to_tokens(token))

    def require(self, symbols: int, what: str) -> None:
        """Refuse a vocabulary that is too small for so many symbols and what is reserved."""
        needed = symbols + len(self._reserved)
        if self.size is not None and self.size < needed:
            raise ValueError(
                f"{what} need a vocabulary of {needed}, but the model's vocab_size is {self.size}: raise it in the config, "
                "or put the model's tokenizer into its directory"
            )

    def padding_id(self, used: int) -> int:
        """What fills up short sequences; masks keep it out, so any id of the vocabulary will do."""
        return self.pad_id if self.pad_id is not None else min(used, (self.size or used + 1) - 1)
