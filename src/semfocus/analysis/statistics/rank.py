"""How well one quantity orders another of which some values are only known to be large: rank correlation with
an interval.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from semfocus.analysis.statistics.order import LEVEL
from semfocus.analysis.statistics.speedup import Pair, Time

_RESAMPLES = 1000
#: an interval from fewer clusters (tasks) than this would only repeat them
FEWEST_CLUSTERS = 4


@dataclass(frozen=True)
class Ranked:
    """What should order (`x`) and what should be ordered: a number (`low` = `high`), or between two bounds."""

    x: float
    low: float
    high: float

    @classmethod
    def of_time(cls, x: float, time: Time) -> "Ranked":
        """A time that was not reached lies above its last look: above every time that is not later."""
        low, high = time.counted
        return cls(x, low if time.reached else math.nextafter(low, math.inf), high)

    @classmethod
    def of_ratio(cls, x: float, pair: Pair) -> "Ranked":
        return cls(x, pair.ratio_low, pair.ratio_high)


@dataclass(frozen=True)
class RankCorrelation:
    """-1 to 1, with a 95 % interval; None: nothing could be compared, or there are too few clusters for an interval.

    `num_pairs` were compared; of `num_unknown` more the order is not known, because runs ended before their target or
    tied, and they count neither way.
    """

    value: float | None
    low: float | None
    high: float | None
    num_pairs: int
    num_unknown: int
    num_clusters: int


def rank_correlation(
    clusters: Iterable[Iterable[Sequence[Ranked]]], resamples: int = _RESAMPLES
) -> RankCorrelation:
    """Somers' D: of the pairs inside a group whose order is known, the share that x orders alike minus the
    share it turns round.

    A pair that x cannot tell apart counts as 0. Without censoring and ties this is Kendall's tau. Groups (seeds of a
    task) come in clusters (tasks): the bootstrap draws clusters, and groups inside each, because seeds of one task
    do not speak for other tasks.
    """
    counted = [[_counts(group) for group in cluster] for cluster in clusters]
    unknown = sum(each for cluster in counted for *_, each in cluster)
    useful = [own for cluster in counted if (own := [(total, num) for total, num, _ in cluster if num])]
    if not useful:
        return RankCorrelation(None, None, None, 0, unknown, 0)
    num_pairs = sum(num for own in useful for _, num in own)
    value = sum(total for own in useful for total, _ in own) / num_pairs
    low, high = None, None
    if len(useful) >= FEWEST_CLUSTERS:
        import numpy

        draw = numpy.random.default_rng(0)
        drawn = numpy.zeros((resamples, 2))
        chosen = draw.integers(len(useful), size=(resamples, len(useful)))
        for which, own in enumerate(useful):
            sums = numpy.array(own, dtype=float)
            times = (chosen == which).sum(
                axis=1
            )  # how often this cluster was drawn, each time with its own groups
            picked = draw.integers(len(own), size=(int(times.sum()), len(own)))
            numpy.add.at(drawn, numpy.repeat(numpy.arange(resamples), times), sums[picked].sum(axis=1))
        low, high = _limits((drawn[:, 0] / drawn[:, 1]).tolist())
    return RankCorrelation(value, low, high, num_pairs, unknown, len(useful))


def rank_correlation_of_medians(
    clusters: Sequence[Sequence[Ranked]], resamples: int = _RESAMPLES
) -> RankCorrelation:
    """The same over clusters (tasks), each represented by the medians of its members (seeds).

    The bootstrap draws clusters, and members inside each; a cluster that is drawn twice is not compared with itself.
    """
    there = [list(each) for each in clusters if each]
    total, num, unknown = _counts([_middle(each) for each in there])
    if not num:
        return RankCorrelation(None, None, None, 0, unknown, len(there))
    low, high = None, None
    if len(there) >= FEWEST_CLUSTERS:
        import numpy

        draw, values = numpy.random.default_rng(0), []
        for _ in range(resamples):
            chosen = draw.integers(len(there), size=len(there))
            drawn = [
                (
                    which,
                    _middle(
                        [
                            there[which][each]
                            for each in draw.integers(len(there[which]), size=len(there[which]))
                        ]
                    ),
                )
                for which in chosen
            ]
            again, pairs = _sum(
                _order(one, other) for (a, one), (b, other) in combinations(drawn, 2) if a != b
            )
            if pairs:
                values.append(again / pairs)
        low, high = _limits(values)
    return RankCorrelation(total / num, low, high, num, unknown, len(there))


def _middle(members: Sequence[Ranked]) -> Ranked:
    return Ranked(
        median(each.x for each in members),
        median(each.low for each in members),
        median(each.high for each in members),
    )


def _counts(points: Sequence[Ranked]) -> tuple[int, int, int]:
    """Concordant minus discordant pairs, pairs of known order, pairs of unknown order."""
    total, num = _sum(_order(one, other) for one, other in combinations(points, 2))
    return total, num, math.comb(len(points), 2) - num


def _sum(orders: Iterable[int | None]) -> tuple[int, int]:
    known = [each for each in orders if each is not None]
    return sum(known), len(known)


def _order(one: Ranked, other: Ranked) -> int | None:
    if one.high < other.low:
        first, second = one, other
    elif other.high < one.low:
        first, second = other, one
    else:
        return None
    return (second.x > first.x) - (second.x < first.x)


def _limits(values: Sequence[float]) -> tuple[float, float]:
    import numpy

    low, high = numpy.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)
