"""The claim about the loss around trained models: decided by landscapes."""

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from semfocus.analysis.claims.claim import RACE, Claim, Ruling, decide, paper_study
from semfocus.analysis.claims.convergence import HEAVY_HITTERS, TOP_K
from semfocus.analysis.claims.evidence import FEWEST_MEASURED, FEWEST_TASKS, lines_of, majority, seeds_enough
from semfocus.analysis.claims.explanations import SOURCE
from semfocus.measurements.landscape.surface import QUANTILE, RADIUS, steepness
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.analysis.summaries import TaskSummary

_ARMS = ("full", HEAVY_HITTERS)


def _steepness(summaries: Sequence["TaskSummary"]) -> Ruling:
    """Of tasks with landscapes around the last weights of both, those on which top-k's gap is not larger."""
    numbers, lower = [], []
    for summary in summaries:
        arms = {arm.label: arm for arm in summary.arms}
        grid, around = _alike(summary)
        if not all(around) or not all(arms[label].gap for label in _ARMS):
            continue
        full, topk = (median(each.values()) for each in around)
        full_gap, topk_gap = (median(arms[label].gap) for label in _ARMS)
        reason = ""
        if topk_gap > full_gap:
            reason = " (not counted: larger gap)"
        elif any(arms[label].num_open for label in _ARMS) or summary.num_missing:
            reason = ": not all runs have ended"
        elif not all(map(seeds_enough, around)):
            reason = ": too few seeds"
        else:
            lower.append(topk < full)
        numbers.append(
            f"{summary.comparison.title}: steepness of the loss top_k(5) {topk:.3g}, full {full:.3g} ({len(around[1])} and {count_of(len(around[0]), 'seed')}, {grid}); "
            f"gap {topk_gap:+.1%} and {full_gap:+.1%}{reason}"
        )
    many = len(lower) >= FEWEST_TASKS
    higher = [each for each in lower if not each]
    return decide(many and all(lower), many and majority(higher, lower), lines_of(numbers, summaries))


def _alike(summary: "TaskSummary") -> tuple[str, list[dict[int, float]]]:
    """The kind of grid that both arms have on the most seeds, and the steepness of full and of top_k by seed on it."""
    found = [_by_grid(summary, label) for label in _ARMS]
    both = sorted(found[0].keys() & found[1].keys())
    if not both:
        return "", [{}, {}]
    best = max(both, key=lambda grid: min(len(each[grid]) for each in found))
    return best, [each[best] for each in found]


def _by_grid(summary: "TaskSummary", label: str) -> dict[str, dict[int, float]]:
    """Around the last weights: by kind of grid, then by seed."""
    found: dict[str, dict[int, float]] = {}
    for record in summary.comparison.arms.get(label, []):
        last = (record.get("curve") or {}).get("epoch", [None])[-1]
        for each in steepness(record):
            if each["epoch"] == last and record.get("state") == "done":
                found.setdefault(each["grid"], {})[record["spec"]["seed"]] = each["steepness"]
    return found


CLAIMS = (
    Claim(
        "stability_generalises",
        "Top_k generalises as well because a smaller Lipschitz constant of the loss makes training more stable.",
        TOP_K,
        SOURCE,
        paper_study(RACE, recipe="landscape", seeds=3, stops=False),
        f"Over at least {FEWEST_TASKS} tasks on which its train minus held-out gap in accuracy is not larger than that of full, the loss around the trained model is less steep for top_k on every one: "
        f"{QUANTILE} % quantile of differences between neighbouring grid points over their distance, within {RADIUS} of the centre, training data (semfocus landscape), the same kind of grid for both, medians over directions and over at least {FEWEST_MEASURED} seeds.",
        "It is steeper on more than half of those tasks.",
        _steepness,
        f'landscape_small --patterns "{RACE}"',
    ),
)
