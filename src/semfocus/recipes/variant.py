"""A recipe as a value: another one scaled down, on another task, or with other sizes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from semfocus.measurements import Measurement
from semfocus.runs import RunSpec
from semfocus.runs.record import Record


@dataclass(frozen=True)
class Variant:
    """What a module of a recipe says, where a file of its own would say little."""

    QUESTION: str
    FIGURE: str
    specs: Callable[[], list[RunSpec]]
    MEASURE: Sequence[Measurement] = ()
    CONTRASTS: Sequence[tuple[str, str]] = ()
    next_stage: Callable[[Sequence[Record]], list[RunSpec]] | None = None
    OWN_SETTINGS: Sequence[str] = ()


def on_even_pairs(question: str, specs_on: Callable[[str], list[RunSpec]]) -> Variant:
    """One of the paper's listops ablations on a task of length 40: hours where listops takes days."""
    return Variant(question, "ours: the listops ablation at length 40", lambda: specs_on("even_pairs"))
