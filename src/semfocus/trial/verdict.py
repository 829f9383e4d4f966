"""The answer of a trial: does an arm learn in fewer steps than full attention, and how sure is that."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from semfocus.studies.statistics import sign_flip_p, smallest_p
from semfocus.studies.statistics.power import detectable, power
from semfocus.studies.statistics.sign_flip_interval import rejecting_patterns, sign_flip_interval
from semfocus.trial.comparison import PairedRatio, paired_ratio
from semfocus.trial.curve import Curve

ALPHA = 0.05
Finding = Literal["faster", "slower", "no evidence", "too few seeds"]


@dataclass(frozen=True)
class Ratio:
    """The geometric mean over seeds, and the limits of the sign-flip test; None: too few seeds for any."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Verdict:
    """An arm against full attention, over the seeds that both have."""

    arm: str
    finding: Finding
    steps: Ratio
    seconds: Ratio
    p: float
    alpha: float
    pairs: tuple[PairedRatio, ...]
    #: the factor that so many seeds, scattered as these are, show four times in five
    detectable: float | None
    #: of the log ratios; see `cautious_spread`
    spread: float

    @property
    def num_seeds(self) -> int:
        return len(self.pairs)

    @property
    def num_reached(self) -> int:
        """Seeds in which the arm reached full attention's final loss."""
        return sum(pair.reached for pair in self.pairs)

    def power(self, factor: float) -> float:
        """How often a factor would be seen with so many seeds, scattered as these are."""
        return power(self.num_seeds, math.log(factor), self.spread, self.alpha)


def seeds_needed(num_arms: int = 1) -> int:
    """The fewest seeds with which any of so many arms could be found different: 6 for one, 7 for two or three.

    >>> [seeds_needed(num) for num in (1, 2, 3, 4)]
    [6, 7, 7, 8]
    """
    num = 2
    while smallest_p(num) > ALPHA / num_arms:
        num += 1
    return num


def judge(full: Mapping[int, Curve], arm: Mapping[int, Curve], name: str = "", num_arms: int = 1) -> Verdict:
    """The verdict on curves by seed; with several arms, each is judged so strictly that all verdicts together hold."""
    seeds = sorted(full.keys() & arm.keys())
    if not seeds:
        raise ValueError(f"no seed has both a run of full attention and one of {name or 'the arm'}")
    return judge_pairs([paired_ratio(seed, full[seed], arm[seed]) for seed in seeds], name, num_arms)


def judge_pairs(pairs: Sequence[PairedRatio], name: str = "", num_arms: int = 1) -> Verdict:
    """The verdict on ratios: a pure function of numbers.

    If the arm were full attention under another name, every ratio might as well have been its inverse. The exact sign-flip
    test counts how many of all such exchanges would look as extreme; no shape of distribution is assumed.
    """
    alpha = ALPHA / num_arms
    logs = [pair.log for pair in pairs]
    steps = _ratio(logs, alpha)
    spread = cautious_spread(logs)
    effect = detectable(len(logs), spread, alpha)
    return Verdict(
        arm=name,
        finding=_finding(steps, len(logs), alpha),
        steps=steps,
        seconds=_ratio([pair.seconds_log for pair in pairs], alpha),
        p=sign_flip_p(logs),
        alpha=alpha,
        pairs=tuple(pairs),
        detectable=None if effect is None else math.exp(effect),
        spread=spread,
    )


def cautious_spread(logs: Sequence[float]) -> float:
    """A standard deviation that is above the true one in 6 of 10 samples.

    That of a few values is too small as often as not, and the power that follows from it is then too high; this much more
    makes it right on average, for normal values. (benchmarks/trial_verdict.py compares it with what is really seen.)
    """
    if len(logs) < 2:
        return 0.0
    from scipy.special import chdtri  # type: ignore[import-untyped]

    mean = fmean(logs)
    return math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / float(chdtri(len(logs) - 1, 0.6)))


def _finding(steps: Ratio, num: int, alpha: float) -> Finding:
    if rejecting_patterns(num, alpha) < 1:
        return "too few seeds"
    assert steps.low is not None
    assert steps.high is not None
    if steps.high < 1:
        return "faster"
    return "slower" if steps.low > 1 else "no evidence"


def _ratio(logs: Sequence[float], alpha: float) -> Ratio:
    if not all(math.isfinite(log) for log in logs):  # nobody looked at the clock
        return Ratio(math.nan, None, None)
    low, high = sign_flip_interval(logs, alpha)
    return Ratio(
        math.exp(fmean(logs)),
        None if low is None else math.exp(low),
        None if high is None else math.exp(high),
    )
