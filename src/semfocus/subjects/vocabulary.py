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

    @property
    def name(self) -> str:
        return "bytes" if self.tokenizer is None else "the model's tokenizer"

    def of_text(self, text: str) -> list[int]:
        """By the tokenizer, or byte by byte."""
        if self.tokenizer is not None:
            return list(self.tokenizer(text, truncation=False, verbose=False)["input_ids"])
        self.require(_BYTES, "bytes")
        return self.of_indices(list(text.encode("utf-8", "replace")))

    def of_indices(self, indices: Sequence[int]) -> list[int]:
        """Numbers from 0 on, passing over the id of padding."""
        pad = self.pad_id
        return [each if pad is None or each < pad else each + 1 for each in indices]

    def shown(self, token: int) -> str:
        """A token as somebody may read it: its piece, or its number, as nobody knows whether it was a byte."""
        return str(token) if self.tokenizer is None else str(self.tokenizer.convert_ids_to_tokens(token))

    def require(self, symbols: int, what: str) -> None:
        """Refuse a vocabulary that is too small for so many symbols and padding."""
        needed = symbols + (self.pad_id is not None)
        if self.size is not None and self.size < needed:
            raise ValueError(
                f"{what} need a vocabulary of {needed}, but the model's vocab_size is {self.size}: raise it in the config, "
                "or put the model's tokenizer into its directory"
            )

    def padding_id(self, used: int) -> int:
        """What fills up short sequences; masks keep it out, so any id of the vocabulary will do."""
        return self.pad_id if self.pad_id is not None else min(used, (self.size or used + 1) - 1)
