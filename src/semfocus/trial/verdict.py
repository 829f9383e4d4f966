"""Whether an arm learned faster than full attention, by how much, and how many seeds it takes to say so."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from semfocus.analysis.statistics import sign_flip_p, smallest_p
from semfocus.analysis.statistics.power import detectable, power
from semfocus.analysis.statistics.significance import rejecting_patterns, sign_flip_interval
from semfocus.trial.curve import Curve, PairedRatio, paired_ratio

#: of the test of steps
ALPHA = 0.05
#: the largest share of trials without any difference in which a difference is claimed, by both tests and for
#: all arms together
MOST_FALSE = 1 / 16


#: how often a trial is judged: once, or a second time with more seeds if the first decides nothing; each time may then
#: be wrong half as often, so that both together are no more wrong than one
Looks = Literal[1, 2]


def seeds_needed(num_arms: int = 1, looks: Looks = 1) -> int:
    """The fewest seeds with which any of so many arms could be found different: 6 for one, 7 for two.

    >>> [seeds_needed(num) for num in (1, 2, 3, 4)], [seeds_needed(num, 2) for num in (1, 2, 3, 4)]
    ([6, 7, 8, 8], [7, 8, 9, 9])
    """
    num = 2
    while not can_show(num, num_arms, looks):
        num += 1
    return num


def can_show(num: int, num_arms: int = 1, looks: Looks = 1) -> bool:
    """Whether so many seeds can show any difference."""
    return rejecting_patterns(num, steps_alpha(num, num_arms, looks)) >= 1


def steps_alpha(num: int, num_arms: int = 1, looks: Looks = 1) -> float:
    """What is left for the test of steps: unanimity in where runs ended may happen by chance too, with `smallest_p`."""
    shares = num_arms * looks
    return max(0.0, min(ALPHA / shares, MOST_FALSE / shares - smallest_p(num)))


#: faster: fewer steps to the same loss, and it did not end higher; slower: the other way round. better, worse: no clear
#: difference in steps, but it ended lower (higher) with every seed. mixed: fewer steps, but it ended higher,
#: or the other way round. diverged: a run did, so that steps are not compared
Outcome = Literal["faster", "slower", "better", "worse", "mixed", "no evidence", "diverged", "too few seeds"]


@dataclass(frozen=True)
class Ratio:
    """The geometric mean over seeds, and the limits of the sign-flip test; None: too few seeds for any."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Verdict:
    """An arm against full attention (or another `reference`), over the seeds that both have."""

    arm: str
    finding: Outcome
    #: to the lowest loss that both reached, over seeds in which neither diverged
    steps: Ratio
    seconds: Ratio
    p: float
    alpha: float
    #: than the reference with every seed; None: not with every one, or too few of them to count
    ended: Literal["higher", "lower"] | None
    pairs: tuple[PairedRatio, ...]
    #: the factor that so many seeds, scattered as these are, show four times in five
    detectable: float | None
    #: of the log ratios; see `cautious_spread`
    spread: float
    reference: str = "full attention"

    @property
    def num_seeds(self) -> int:
        return len(self.pairs)

    @property
    def num_reached(self) -> int:
        """Seeds in which the arm reached full attention's lowest loss."""
        return sum(pair.reached for pair in self.pairs)

    @property
    def num_higher(self) -> int:
        """Seeds in which the arm ended higher, or was the only one to diverge."""
        return sum(pair.higher > 0 for pair in self.pairs)

    @property
    def num_lower(self) -> int:
        return sum(pair.higher < 0 for pair in self.pairs)

    @property
    def claims_a_difference(self) -> bool:
        """Whether the verdict would be false if the arm were full attention under another name."""
        if self.finding == "diverged":
            return self.ended is not None
        return self.finding not in ("no evidence", "too few seeds")

    def power(self, factor: float) -> float:
        """How often a factor would be seen with so many seeds, scattered as these are."""
        return power(self.num_seeds, math.log(factor), self.spread, self.alpha)


def judge(
    full: Mapping[int, Curve],
    arm: Mapping[int, Curve],
    name: str = "",
    num_arms: int = 1,
    reference: str = "full attention",
    looks: Looks = 1,
) -> Verdict:
    """The verdict on curves by seed; with several arms, each is judged so strictly that all verdicts together hold."""
    seeds = sorted(full.keys() & arm.keys())
    if not seeds:
        raise ValueError(f"no seed has both a run of {reference} and one of {name or 'the arm'}")
    return judge_pairs(
        [paired_ratio(seed, full[seed], arm[seed]) for seed in seeds], name, num_arms, reference, looks
    )


def judge_pairs(
    pairs: Sequence[PairedRatio],
    name: str = "",
    num_arms: int = 1,
    reference: str = "full attention",
    looks: Looks = 1,
) -> Verdict:
    """The verdict on pairs: a pure function of numbers.

    If the arm were full attention under another name, the two runs of a seed might as well have been
    exchanged: every ratio be its inverse, and what ended higher end lower. The exact sign-flip test counts
    how many of all such exchanges would have looked as extreme in steps; that one arm ends higher with every
    seed, two of them do. No distribution is assumed.
    """
    alpha = steps_alpha(len(pairs), num_arms, looks)
    logs = [pair.log for pair in pairs if not pair.diverged]
    steps = _ratio(logs, alpha)
    spread = cautious_spread(logs)
    effect = detectable(len(logs), spread, alpha) if len(logs) == len(pairs) else None
    enough = can_show(len(pairs), num_arms, looks)
    ended = _ended(pairs) if enough else None
    return Verdict(
        arm=name,
        finding=_finding(pairs, steps, ended, enough),
        steps=steps,
        seconds=_ratio([pair.seconds_log for pair in pairs if not pair.diverged], alpha),
        p=sign_flip_p(logs),
        alpha=alpha,
        ended=ended,
        pairs=tuple(pairs),
        detectable=None if effect is None else math.exp(effect),
        spread=spread,
        reference=reference,
    )


def cautious_spread(logs: Sequence[float]) -> float:
    """A standard deviation that is above the true one in 6 of 10 samples.

    That of a few values is too small as often as not, and the power that follows from it is then too high;
    this much more makes it right on average, for normal values. (benchmarks/trial_verdict.py compares it with
    what is really seen.)
    """
    if len(logs) < 2:
        return 0.0
    from scipy.special import chdtri  # type: ignore[import-untyped]

    mean = fmean(logs)
    return math.sqrt(math.fsum((log - mean) ** 2 for log in logs) / float(chdtri(len(logs) - 1, 0.6)))


def _ended(pairs: Sequence[PairedRatio]) -> Literal["higher", "lower"] | None:
    if all(pair.higher > 0 for pair in pairs):
        return "higher"
    return "lower" if all(pair.higher < 0 for pair in pairs) else None


def _finding(
    pairs: Sequence[PairedRatio], steps: Ratio, ended: Literal["higher", "lower"] | None, enough: bool
) -> Outcome:
    if any(pair.diverged for pair in pairs):
        return "diverged"
    if not enough:
        return "too few seeds"
    assert steps.low is not None
    assert steps.high is not None
    # To take back a claim needs no test: ending on the wrong side with most seeds is enough.
    if steps.high < 1:
        return "mixed" if 2 * sum(pair.higher > 0 for pair in pairs) > len(pairs) else "faster"
    if steps.low > 1:
        return "mixed" if 2 * sum(pair.higher < 0 for pair in pairs) > len(pairs) else "slower"
    if ended is None:
        return "no evidence"
    return "worse" if ended == "higher" else "better"


def _ratio(logs: Sequence[float], alpha: float) -> Ratio:
    if not logs or not all(math.isfinite(log) for log in logs):  # all diverged, or nobody looked at the clock
        return Ratio(math.nan, None, None)
    low, high = sign_flip_interval(logs, alpha)
    return Ratio(
        math.exp(fmean(logs)),
        None if low is None else math.exp(low),
        None if high is None else math.exp(high),
    )
