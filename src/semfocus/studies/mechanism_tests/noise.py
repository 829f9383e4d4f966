"""What a pattern leaves of the dispersion of a model's scores, against what it leaves of noise."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from semfocus.studies.mechanism_tests.looked import LookedTask, When


@dataclass(frozen=True)
class LeftOver:
    """Mean over queries of dispersion under the pattern / dispersion of all keys, of a model's scores and of their Gaussian twins.

    A twin has the mean and the spread of the very query, so that layers and queries of different size can be pooled.
    """

    share: float
    null: float

    @property
    def of_noise(self) -> float:
        """Below 1: the pattern shrinks the dispersion of these scores more than that of noise."""
        return self.share / self.null


def left_over(task: LookedTask, label: str, when: When) -> dict[int, LeftOver]:
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
