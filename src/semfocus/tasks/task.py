"""What a task is: labelled token sequences with a sampler, an independent evaluator and a text form."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from semfocus.notation import Notation

Length = int | tuple[int, int]


class Task(Notation, ABC):
    """A frozen dataclass with a `name`. A new task defines `symbols`, `num_classes`, three methods
    (`draw`, `label_row`, `allows_length`), and `relevant` where it can say which tokens decide. A
    user's task whose labels are not equally frequent also says its `chance_accuracy`.

    Token ids are the indices of `symbols`; the padding token comes after them.
    """

    symbols: Sequence[str]
    num_classes: int
    paper_length: Length = 40
    #: accuracy of the best constant guess at the paper's length
    chance_accuracy: float
    #: whether a dataset may hold no sequence twice, not even across training and held-out
    distinct: bool = False

    @property
    def pad_id(self) -> int:
        return len(self.symbols)

    @property
    def vocab_size(self) -> int:
        return len(self.symbols) + 1

    @abstractmethod
    def allows_length(self, length: int) -> str | None:
        """None if sequences of this length exist, else what lengths do ("an even length of at least 2")."""

    @abstractmethod
    def draw(self, num: int, length: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`num` sequences of exactly this length with the labels the construction implies."""

    @abstractmethod
    def label_row(self, row: list[int]) -> int:
        """The label of one sequence without padding, computed from the tokens alone."""

    def relevant(self, tokens: Tensor) -> Tensor | None:
        """bool, like `tokens`: the tokens that together decide the label; None where the task cannot say."""
        return None

    def sample(self, num: int, length: Length, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """`num` sequences (num, length) and labels (num,), both int64.

        A range (low, high), inclusive, varies the length; shorter rows end in `pad_id`.
        """
        if num < 1:
            raise ValueError(f"{self.name}: the number of samples must be at least 1, got {num}")
        low, high = checked_length(self, length)
        if low == high:
            return self.draw(num, low, generator)
        return self.draw_rows(self.draw_lengths(num, low, high, generator), high, generator)

    def draw_lengths(self, num: int, low: int, high: int, generator: torch.Generator) -> Tensor:
        """Lengths for a range: uniform over those that exist."""
        lengths = torch.tensor([each for each in range(low, high + 1) if self.allows_length(each) is None])
        return lengths[torch.randint(len(lengths), (num,), generator=generator)]

    def draw_rows(self, lengths: Tensor, width: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """One sequence of each length, padded to `width`, and the labels."""
        tokens = torch.full((len(lengths), width), self.pad_id)
        labels = torch.zeros(len(lengths), dtype=torch.int64)
        for each in lengths.unique().tolist():
            rows = lengths == each
            tokens[rows, :each], labels[rows] = self.draw(int(rows.sum()), each, generator)
        return tokens, labels

    def label(self, tokens: Tensor) -> Tensor:
        """Labels (num,) of sequences (num, length), independent of the sampler; padding is ignored."""
        rows = [[token for token in row if token != self.pad_id] for row in tokens.tolist()]
        return torch.tensor([self.label_row(row) for row in rows], dtype=torch.int64)

    def tokens_of(self, text: str) -> Tensor:
        """Token ids (length,) of symbols separated by spaces."""
        ids = {symbol: index for index, symbol in enumerate(self.symbols)}
        unknown = next((word for word in text.split() if word not in ids), None)
        if unknown is not None:
            raise ValueError(f"{self.name}: unknown symbol {unknown!r}; symbols: {' '.join(self.symbols)}")
        return torch.tensor([ids[word] for word in text.split()], dtype=torch.int64)

    def text_of(self, ids: Tensor) -> str:
        """The text form of token ids (length,); padding is left out."""
        return " ".join(self.symbols[index] for index in ids.tolist() if index != self.pad_id)

    def real(self, tokens: Tensor) -> Tensor:
        """bool, like `tokens`: True where there is no padding."""
        return tokens != self.pad_id


def checked_length(task: Task, length: Length) -> tuple[int, int]:
    """(low, high) of a length or a range, after making sure that the task has sequences there."""
    values = tuple(length) if isinstance(length, tuple | list) else (length, length)
    if len(values) != 2 or any(type(value) is not int for value in values):
        raise ValueError(f"{task.name}: length must be an integer or a pair (low, high), got {length!r}")
    low, high = values
    if low > high:
        raise ValueError(f"{task.name}: length range ({low}, {high}) is empty")
    if all(task.allows_length(each) is not None for each in range(max(low, 0), high + 1)):
        asked = f"length {low}" if low == high else f"any length from {low} to {high}"
        raise ValueError(f"{task.name}: {asked} is not possible, needs {task.allows_length(high)}")
    return max(low, 0), high


def at_least(smallest: int, length: int) -> str | None:
    """The commonest rule of `allows_length`."""
    return None if length >= smallest else f"a length of at least {smallest}"
