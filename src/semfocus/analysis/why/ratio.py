"""Whether the theory's ratio predicts the speedup, task by task, and what noise alone would give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.statistics.rank import RankCorrelation, Ranked, rank_correlation_of_medians
from semfocus.analysis.statistics.speedup import Speedup
from semfocus.analysis.why.focus_layers import carried
from semfocus.analysis.why.measured_runs import MeasuredTask, When, middle


@dataclass(frozen=True)
class LeftOver:
    """Mean over queries of dispersion under the pattern / dispersion of all keys, of a model's scores and of
    their Gaussian twins.

    A twin has the mean and the spread of the very query, so that layers and queries of different size can be pooled.
    """

    share: float
    null: float

    @property
    def of_noise(self) -> float:
        """Below 1: the pattern shrinks the dispersion of these scores more than that of noise."""
        return self.share / self.null


def left_over(task: MeasuredTask, label: str, when: When) -> dict[int, LeftOver]:
    """By seed, for the pattern put on the scores of full attention; only there noise is of one size with the scores."""
    found = {}
    for seed, run in task.of("full").items():
        share, null = (run.value("dispersion_ratio", when, at, pattern=label) for at in ("mean", "null"))
        if share is not None and null:
            found[seed] = LeftOver(share, null)
    return found


def less_than_of_noise(by_seed: Mapping[int, LeftOver]) -> bool:
    """In the median over seeds."""
    return median(each.of_noise for each in by_seed.values()) < 1


#: the quantile of the dispersion that is compared
QUANTILE = "75"


@dataclass(frozen=True)
class RatioPoint:
    """One task: the ratio of dispersions seed by seed, and how many times faster than full attention."""

    task: str
    ratios: dict[int, float]
    speedup: Speedup
    #: by seed, where the pattern was put on the scores of full attention: the share of the dispersion that it leaves
    left: dict[int, LeftOver]

    @property
    def ratio(self) -> float:
        found = middle(self.ratios.values())
        assert found is not None
        return found


@dataclass(frozen=True)
class RatioTest:
    """One arm; `same_scores`: the pattern on the scores of full attention, else its own models against full's."""

    label: str
    group: str
    when: When
    same_scores: bool
    points: list[RatioPoint]
    correlation: RankCorrelation


def ratio_tests(tasks: Sequence[MeasuredTask]) -> list[RatioTest]:
    """For every arm with a pattern, untrained and trained, own models and the same scores; those without a
    point are left out.
    """
    labels = dict.fromkeys(
        (run.label, run.group)
        for each in tasks
        for run in each.runs
        if run.label == run.pattern and run.pattern != "full"
    )
    tests = [
        ratio_test(tasks, label, group, when, same)
        for label, group in labels
        for same in (False, True)
        for when in ("start", "end")
    ]
    return [test for test in tests if test.points]


def ratio_test(
    tasks: Sequence[MeasuredTask], label: str, group: str, when: When, same_scores: bool
) -> RatioTest:
    points = [point for each in tasks if (point := _point(each, label, when, same_scores)) is not None]
    clusters = [
        [
            Ranked.of_ratio(point.ratios[pair.seed], pair)
            for pair in point.speedup.pairs
            if pair.seed in point.ratios
        ]
        for point in points
    ]
    return RatioTest(label, group, when, same_scores, points, rank_correlation_of_medians(clusters))


def dispersion_ratios(
    task: MeasuredTask, label: str, when: When, same_scores: bool, base: str = "full"
) -> dict[int, float]:
    """By seed, the 75 % quantile of the arm's dispersion over that of `base`, each in the layer that carries
    its focus.
    """
    full, arm = task.of(base), task.of(label)
    found = {}
    for seed, run in full.items():
        below = carried(run, "dispersion", when, QUANTILE)
        if same_scores:
            above = carried(run, "dispersion", when, QUANTILE, pattern=label)
        else:
            above = carried(arm[seed], "dispersion", when, QUANTILE) if seed in arm else None
        if below and above is not None:
            found[seed] = above / below
    return found


def _point(task: MeasuredTask, label: str, when: When, same_scores: bool) -> RatioPoint | None:
    ratios = dispersion_ratios(task, label, when, same_scores)
    speedup = task.summary.race(Contrast(label, "full"))
    if not ratios or speedup is None:
        return None
    return RatioPoint(task.task, ratios, speedup, left_over(task, label, when) if same_scores else {})
