"""k_sweep_marked_majority: k kept keys against m tokens that the label needs."""

from semfocus.recipes.arms import compare
from semfocus.recipes.k_sweep import ARMS, PROBES
from semfocus.runs import RunSpec

__all__ = ["FIGURE", "PROBES", "QUESTION", "specs"]

QUESTION = "Does top-k attention stop helping when the label needs more than k dispersed tokens?"
FIGURE = "ours: expressivity against stability"

MARKED = (1, 3, 5, 9, 15, 25, 39)


def specs() -> list[RunSpec]:
    """The majority of m marked bits among 40, trained as even_pairs is."""
    return [spec for m in MARKED for spec in compare({"task": f"marked_majority({m})"}, ARMS)]
