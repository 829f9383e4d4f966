"""Which quantity of the untrained model orders the arms by how soon they learn?"""

from collections.abc import Sequence
from dataclasses import dataclass

from semfocus.analysis.statistics.rank import RankCorrelation, Ranked, rank_correlation
from semfocus.analysis.why.measured_runs import MeasuredRun, MeasuredTask

#: candidates, with the words for them; all are medians over held-out queries or sequences
YARDSTICKS = {
    "effective_keys": "effective number of attended keys",
    "focus_mass": "attention on the tokens that decide",
    "dispersion": "dispersion of the scores",
    "gradient_norm_query_key": "gradient norm of query and key weights",
    "gradient_norm_value_out": "gradient norm of value and output weights",
    "lambda_w_local": "local Lipschitz constant in W",
}
FIXED = "input-agnostic"


@dataclass(frozen=True)
class Yardstick:
    """A quantity at epoch 0 against epochs to target; above 0: arms with less of it learn sooner."""

    quantity: str
    words: str
    points: list[tuple[MeasuredRun, float]]
    correlation: RankCorrelation
    #: without arms whose keys do not depend on the input
    choosing: RankCorrelation

    @property
    def strength(self) -> float:
        return abs(self.correlation.value or 0.0)


def yardsticks(tasks: Sequence[MeasuredTask]) -> list[Yardstick]:
    """All that were measured, the one that orders best first. Arms are compared on the same task and seed only."""
    found = []
    for quantity, words in YARDSTICKS.items():
        points = [
            (run, value)
            for task in tasks
            for run in task.runs
            if (value := run.value(quantity, "start")) is not None
        ]
        if points:
            choosing = [each for each in points if each[0].group != FIXED]
            found.append(Yardstick(quantity, words, points, _correlation(points), _correlation(choosing)))
    return sorted(found, key=lambda each: -each.strength)


def _correlation(points: Sequence[tuple[MeasuredRun, float]]) -> RankCorrelation:
    tasks: dict[str, dict[int, list[Ranked]]] = {}
    for run, value in points:
        tasks.setdefault(run.task, {}).setdefault(run.seed, []).append(Ranked.of_time(value, run.time))
    return rank_correlation(seeds.values() for seeds in tasks.values())
