"""Claims about why: they need measurements inside trained models, which learning curves do not hold."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from semfocus.report.claims.claim import Claim, Finding

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary

SOURCE = "Ram et al. 2025, explanation"
_PROBES = "Decided by measurements inside trained models (semfocus probe), not by learning curves. "


def _not_from_curves(summaries: Sequence["TaskSummary"]) -> Finding:
    return Finding("undecided")


CLAIMS = (
    Claim(
        "smaller_dispersion_faster",
        "Top_k learns faster because the dispersion of the scores its softmax sees is smaller.",
        SOURCE,
        "dispersion",
        _PROBES
        + "Over at least 4 tasks, the 75 % quantile of top_k's dispersion on held-out data is below that of full attention wherever top_k gains, and a smaller ratio "
        "goes with a larger speedup (rank correlation below -0.5).",
        "Top_k gains on more than half of the tasks on which its dispersion is not smaller, or an arm with larger dispersion than full (sharper full attention) gains over top_k.",
        _not_from_curves,
    ),
    Claim(
        "stability_generalises",
        "Top_k generalises as well because a smaller Lipschitz constant of the loss makes training more stable.",
        SOURCE,
        "landscape",
        _PROBES
        + "Over at least 4 tasks, the Lipschitz estimate of the loss around the trained model is lower for top_k wherever its train minus held-out gap is not larger.",
        "It is higher on more than half of those tasks.",
        _not_from_curves,
    ),
    Claim(
        "separation_keeps_masks",
        "The selection of top_k is stable because kept and masked scores are separated.",
        SOURCE,
        "dispersion",
        _PROBES
        + "Over at least 4 tasks, at least 90 % of kept keys are unchanged under embedding noise of 1 % at the end of training.",
        "On more than half of the tasks at least 10 % of kept keys change.",
        _not_from_curves,
    ),
)
