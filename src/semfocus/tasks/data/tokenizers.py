"""From text to tokens: bytes, or pieces that are learned from the training part (extra `semfocus[text]`)."""

import hashlib
import io
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from semfocus.tasks.data.text import Text

BYTES = "bytes"
_LEARNED = re.compile(r"(unigram|bpe):([1-9]\d*)")


class Tokenizer(ABC):
    """Text both ways; `size` tokens, known before any text is read."""

    size: int

    @abstractmethod
    def encode(self, content: bytes) -> Tensor:
        """Token ids (length,), in a small integer type."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """The text of token ids; bytes that are no whole character are written \\xNN, or as pieces decode them."""

    @property
    @abstractmethod
    def symbols(self) -> Sequence[str]:
        """A name for every token."""

    @property
    @abstractmethod
    def digest(self) -> str | None:
        """The identity of what was learned; None where nothing is."""


class ByteTokenizer(Tokenizer):
    """Every byte is a token."""

    size = 256
    symbols = tuple(f"{value:02x}" for value in range(256))
    digest = None

    def encode(self, content: bytes) -> Tensor:
        return torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.zeros(0).byte()

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode(errors="backslashreplace")


@dataclass(frozen=True)
class PieceTokenizer(Tokenizer):
    """sentencepiece, unigram or BPE, learned from the training part of a text when it is first needed.

    Nothing is normalised, a new line is a piece of its own, and characters without one are spelt in bytes: the text
    comes back as it was. Learning has one thread and no sampling, so that one text gives one tokenizer.
    """

    kind: str
    size: int
    text: Text

    def encode(self, content: bytes) -> Tensor:
        lines = content.decode().splitlines(keepends=True)
        pieces = [piece for line in self._processor().encode(lines) for piece in line]
        return torch.tensor(pieces, dtype=torch.int32)

    def decode(self, ids: Sequence[int]) -> str:
        return str(self._processor().decode(list(ids)))

    @property
    def symbols(self) -> Sequence[str]:
        return tuple(self._processor().id_to_piece(index) for index in range(self.size))

    @property
    def digest(self) -> str | None:
        return hashlib.sha256(_learn(self.kind, self.size, self.text)).hexdigest()

    def _processor(self) -> Any:
        model = _learn(self.kind, self.size, self.text)  # which says what to install
        import sentencepiece

        return sentencepiece.SentencePieceProcessor(model_proto=model)


def problem_of_tokenizer(name: str) -> str | None:
    """What is wrong with the name of a tokenizer, or None."""
    if name == BYTES or _LEARNED.fullmatch(name):
        return None
    return f"tokenizer must be bytes, unigram:SIZE or bpe:SIZE (e.g. unigram:4096), got {name!r}"


def tokenizer_of(name: str, text: Text) -> Tokenizer:
    """A tokenizer by its name; nothing is learned yet."""
    problem = problem_of_tokenizer(name)
    if problem is not None:
        raise ValueError(problem)
    if name == BYTES:
        return ByteTokenizer()
    kind, size = name.split(":")
    return PieceTokenizer(kind, int(size), text)


@lru_cache(maxsize=4)
def encoded_parts(name: str, text: Text) -> tuple[Tensor, Tensor]:
    """Training and held-out part as token ids."""
    tokenizer = tokenizer_of(name, text)
    train, held_out = text.parts
    return tokenizer.encode(train), tokenizer.encode(held_out)


@lru_cache(maxsize=4)
def _learn(kind: str, size: int, text: Text) -> bytes:
    """The learned model in sentencepiece's own format."""
    try:
        import sentencepiece
    except ImportError:
        raise ValueError(
            f"the tokenizer {kind}:{size} needs sentencepiece: pip install 'semfocus[text]'"
        ) from None
    model = io.BytesIO()
    lines = (line for line in text.parts[0].decode().split("\n") if line)
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            model_type=kind,
            vocab_size=size,
            num_threads=1,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            split_by_whitespace=True,
            byte_fallback=True,
            user_defined_symbols=["\n"],
            max_sentence_length=1 << 20,
            unk_id=0,
            bos_id=-1,
            eos_id=-1,
            pad_id=-1,
            minloglevel=2,
        )
    except (RuntimeError, OSError) as error:
        why = " ".join(str(error).split())[-160:]
        raise ValueError(f"no tokenizer {kind}:{size} can be learned from this text: {why}") from None
    return model.getvalue()
