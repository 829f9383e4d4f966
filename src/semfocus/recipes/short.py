"""The paper's listops ablations on a task of length 40: hours where listops takes days."""

from collections.abc import Callable
from dataclasses import dataclass

from semfocus.runs import RunSpec


@dataclass(frozen=True)
class OnEvenPairs:
    """A recipe made of the `specs(task)` of another, offered under its own name."""

    QUESTION: str
    specs_on: Callable[[str], list[RunSpec]]
    FIGURE: str = "ours: the listops ablation at length 40"

    def specs(self) -> list[RunSpec]:
        return self.specs_on("even_pairs")
