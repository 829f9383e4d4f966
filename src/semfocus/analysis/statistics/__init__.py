"""Statistics of times that may be censored: pure functions of numbers."""

from semfocus.analysis.statistics.significance import holm, sign_flip_p, smallest_p
from semfocus.analysis.statistics.speedup import Pair, Speedup, Time, paired_speedup
from semfocus.analysis.statistics.survival import (
    Estimate,
    SurvivalCurve,
    kaplan_meier,
    median_time,
    restricted_mean,
)

__all__ = [
    "Estimate",
    "Pair",
    "Speedup",
    "SurvivalCurve",
    "Time",
    "holm",
    "kaplan_meier",
    "median_time",
    "paired_speedup",
    "restricted_mean",
    "sign_flip_p",
    "smallest_p",
]
