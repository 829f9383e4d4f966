"""The claim about the loss around trained models: decided by landscapes."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from semfocus.report.around import LANDSCAPES, QUANTILE, RADIUS
from semfocus.report.claims.claim import Claim, Finding, decide
from semfocus.report.claims.convergence import HEAVY_HITTERS
from semfocus.report.claims.evidence import FEWEST_TASKS, majority
from semfocus.report.claims.explanations import SOURCE
from semfocus.report.claims.measured import FEWEST_LOOKED, enough, told

if TYPE_CHECKING:
    from semfocus.studies.analysis import TaskSummary


def _steepness(summaries: Sequence["TaskSummary"]) -> Finding:
    """Of tasks with landscapes around the last weights of both, those on which top-k's gap is not larger."""
    numbers, lower = [], []
    for summary in summaries:
        arms = {arm.label: arm for arm in summary.arms}
        around = [_by_seed(summary, label) for label in ("full", HEAVY_HITTERS)]
        if not all(around) or not all(arms[label].gap for label in ("full", HEAVY_HITTERS)):
            continue
        full, topk = (median(each.values()) for each in around)
        full_gap, topk_gap = (median(arms[label].gap) for label in ("full", HEAVY_HITTERS))
        reason = ""
        if topk_gap > full_gap:
            reason = " (not counted: larger gap)"
        elif not all(map(enough, around)):
            reason = ": too few seeds"
        else:
            lower.append(topk < full)
        numbers.append(
            f"{summary.comparison.task}: steepness of the loss top_k(5) {topk:.3g}, full {full:.3g} ({len(around[1])} and {len(around[0])} seeds); "
            f"gap {topk_gap:+.1%} and {full_gap:+.1%}{reason}"
        )
    many = len(lower) >= FEWEST_TASKS
    higher = [each for each in lower if not each]
    return decide(many and all(lower), many and majority(higher, lower), told(numbers, summaries))


def _by_seed(summary: "TaskSummary", label: str) -> dict[int, float]:
    """Around the last weights."""
    found = {}
    for record in summary.comparison.arms.get(label, []):
        last = (record.get("curve") or {}).get("epoch", [None])[-1]
        for each in record.get(LANDSCAPES) or ():
            if each["epoch"] == last:
                found[record["spec"]["seed"]] = each["steepness"]
    return found


CLAIMS = (
    Claim(
        "stability_generalises",
        "Top_k generalises as well because a smaller Lipschitz constant of the loss makes training more stable.",
        SOURCE,
        "landscape",
        f"Over at least {FEWEST_TASKS} tasks on which its train minus held-out gap in accuracy is not larger than that of full, the loss around the trained model is less steep for top_k on every one: "
        f"{QUANTILE} % quantile of differences between neighbouring grid points over their distance, within {RADIUS} of the centre, training data (semfocus landscape), medians over directions and over at least {FEWEST_LOOKED} seeds.",
        "It is steeper on more than half of those tasks.",
        _steepness,
    ),
)
