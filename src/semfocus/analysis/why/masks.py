"""Do stable masks go with fast learning?

Mask agreement and separation against epochs to target, over k and over temperature.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from semfocus.analysis.statistics.rank import RankCorrelation, Ranked, rank_correlation
from semfocus.analysis.why.focus_layers import carried
from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask, When
from semfocus.runs.arms import top_k_of

#: quantity -> (words, which number of it)
MASKS = {
    "mask_agreement_0.01": ("kept keys that stay (1 % noise)", "mean"),
    "separation": ("separation (median)", "50"),
    "separation_ratio": ("separation / dispersion (median)", "50"),
}


@dataclass(frozen=True)
class MaskTest:
    """One quantity of top-k models; `over_k`: runs of one task, seed and temperature, `over_temperature`: of
    one task, seed and k.
    """

    quantity: str
    words: str
    when: When
    points: list[tuple[MeasuredRun, float]]
    over_k: RankCorrelation
    over_temperature: RankCorrelation


def mask_tests(tasks: Sequence[MeasuredTask]) -> list[MaskTest]:
    """Every quantity, untrained and trained, of arms that are top-k at any temperature and nothing else."""
    runs = [run for task in tasks for run in task.runs if kept(run) is not None]
    found = []
    for quantity, (words, at) in MASKS.items():
        for when in ("start", "end"):
            points = [
                (run, value)
                for run in runs
                if (value := carried(run, quantity, when, at)) is not None and value < float("inf")
            ]
            if points:
                found.append(
                    MaskTest(
                        quantity,
                        words,
                        when,
                        points,
                        _within(points, lambda run: run.temperature),
                        _within(points, kept),
                    )
                )
    return found


def kept(run: MeasuredRun) -> int | None:
    """k of a run that is top-k, sharper or not, without any control."""
    return top_k_of(run.pattern) if run.group != "control" else None


def _within(
    points: Sequence[tuple[MeasuredRun, float]], fixed: Callable[[MeasuredRun], object]
) -> RankCorrelation:
    tasks: dict[str, dict[object, list[Ranked]]] = {}
    for run, value in points:
        groups = tasks.setdefault(run.task, {})
        groups.setdefault((run.seed, fixed(run)), []).append(Ranked.of_time(value, run.time))
    return rank_correlation(groups.values() for groups in tasks.values())
