"""Any UTF-8 text as a task: predict each next token from those before it.

tokens  d e f _ m a i n ( )
labels  e f _ m a i n ( ) :
"""

from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor

from semfocus.tasks.data.text import STDLIB, Text, read_text
from semfocus.tasks.data.tokenizers import BYTES, encoded_parts, tokenizer_of
from semfocus.tasks.file_task import TokensAndLabels
from semfocus.tasks.task import Length, Task


class TextTask(Task):
    """`text:PATH`, a file or a folder, or `text:stdlib`. A sample is a window of the text; its labels (num,
    length) are the next tokens.

    The last tenth of the text is held out. Training windows begin anywhere in the rest, at random; held-out
    windows lie side by side, evenly spread, and are the same for every seed.
    """

    name = "text"
    paper_length: Length = 128

    def __init__(self, path: Path | None, tokenizer: str = BYTES, text: Text | None = None) -> None:
        """`path` None is the standard library; `text` is what it holds, if that is known."""
        self.path = path
        self.text = read_text(path) if text is None else text
        self.digest = self.text.digest
        self.tokenizer_name = tokenizer
        self.tokenizer = tokenizer_of(tokenizer, self.text)
        self.num_classes = self.tokenizer.size

    @classmethod
    def at(cls, place: str) -> "TextTask":
        """The task behind `text:`."""
        if not place:
            raise ValueError(f"text: needs a path, text:PATH, or text:{STDLIB}")
        return cls(None if place == STDLIB else Path(place).expanduser().resolve())

    def with_tokenizer(self, tokenizer: str) -> "TextTask":
        """The same text in other tokens."""
        return TextTask(self.path, tokenizer, self.text)

    def __str__(self) -> str:
        return f"text:{STDLIB if self.path is None else self.path}"

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TextTask) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[str, str, str]:
        return str(self), self.digest, self.tokenizer_name

    @property
    def symbols(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(self.tokenizer.symbols)

    @property
    def pad_id(self) -> int:
        return self.tokenizer.size

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.size + 1

    @cached_property
    def chance_accuracy(self) -> float:  # type: ignore[override]
        """That of the most frequent token, in the held-out part."""
        return float(self._parts[1].long().bincount().max() / len(self._parts[1]))

    @property
    def _parts(self) -> tuple[Tensor, Tensor]:
        return encoded_parts(self.tokenizer_name, self.text)

    def allows_length(self, length: int) -> str | None:
        """By bytes, which are at least as many as tokens; `windows` looks at the tokens themselves."""
        longest = min(map(len, self.text.parts)) - 1
        if longest < 1:
            return (
                f"a longer text (this one has {len(self.text.content)} bytes, of which a tenth is held out)"
            )
        return None if 1 <= length <= longest else f"a length from 1 to {longest}, or a longer text"

    def draw(self, num: int, length: int, generator: torch.Generator) -> TokensAndLabels:
        """Windows of the held-out part, anywhere in it."""
        return self._random_windows(self._checked(1, length), num, length, generator)

    def label_row(self, row: list[int]) -> int:
        raise ValueError(f"{self}: the next token does not follow from those before it")

    def windows(
        self, num_train: int, num_held_out: int, length: int, generator: torch.Generator
    ) -> tuple[TokensAndLabels, TokensAndLabels]:
        """The samples of a run: as many held-out windows as there are side by side, at most `num_held_out`."""
        train = self._random_windows(self._checked(0, length), num_train, length, generator)
        return train, even_windows(self._checked(1, length), num_held_out, length)

    def windows_of(self, other: Path, length: int) -> TokensAndLabels:
        """All of another text, window by window, in the tokens of this one."""
        ids = _long_enough(self.tokenizer.encode(read_text(other).content), length, str(other))
        return even_windows(ids, len(ids), length)

    def _checked(self, part: int, length: int) -> Tensor:
        return _long_enough(self._parts[part], length, f"{self}, {('training', 'held-out')[part]} part")

    def _random_windows(
        self, ids: Tensor, num: int, length: int, generator: torch.Generator
    ) -> TokensAndLabels:
        return windows_at(ids, torch.randint(len(ids) - length, (num,), generator=generator), length)

    def tokens_of(self, text: str) -> Tensor:
        """Token ids (length,) of a text as it stands."""
        return self.tokenizer.encode(text.encode()).long()

    def text_of(self, ids: Tensor) -> str:
        return self.tokenizer.decode([index for index in ids.tolist() if index != self.pad_id])


def even_windows(ids: Tensor, num: int, length: int) -> TokensAndLabels:
    """At most `num` windows that share no token but the last label with the next, evenly spread."""
    available = (len(ids) - 1) // length
    num = min(num, available)
    return windows_at(ids, torch.arange(num) * available // num * length, length)


def windows_at(ids: Tensor, starts: Tensor, length: int) -> TokensAndLabels:
    """Tokens and next tokens (num, length) from these places on."""
    rows = ids[starts.unsqueeze(1) + torch.arange(length + 1)].long()
    return rows[:, :-1].contiguous(), rows[:, 1:].contiguous()


def _long_enough(ids: Tensor, length: int, where: str) -> Tensor:
    if len(ids) <= length:
        raise ValueError(
            f"{where}: {len(ids)} tokens, too few for a window of {length} and the token after it"
        )
    return ids
