"""What a study measures inside its models once they are trained, as a recipe declares it."""

from dataclasses import dataclass
from typing import Literal

from semfocus.counts import count_of

Part = Literal["train", "held_out"]
#: sequences of each part that are looked at by default
SAMPLES = 256


@dataclass(frozen=True)
class Probing:
    """`PROBES = Probing(epochs=("0", "last"))` in a recipe; the study then ends with these measurements.

    `epochs`: numbers, `last`, `best`, or `reaching:0.95`, which is passed over in runs that never got there. `patterns`
    are also applied to the scores of plain full attention, the baseline, and of no other arm. `every`: also on a few
    sequences every so many epochs, while a run trains or, for a run that was trained without, by training it again.
    """

    epochs: tuple[str, ...] = ("0", "last")
    data: tuple[Part, ...] = ("held_out",)
    samples: int = SAMPLES
    patterns: tuple[str, ...] = ()
    every: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "data", "patterns"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a tuple of texts, got {getattr(self, name)!r}")
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples}")
        if self.every is not None and self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")

    def __str__(self) -> str:
        """In words, for a plan or a list."""
        when = " and ".join("untrained" if each == "0" else each for each in self.epochs)
        also = f", every {'epoch' if self.every == 1 else f'{self.every} epochs'}" if self.every else ""
        others = f", and {', '.join(self.patterns)} on the scores of full attention" if self.patterns else ""
        return f"{when}{also}: {count_of(self.samples, 'sequence')} of {' and '.join(self.data)} data{others}"
