"""How often the intervals of docs/statistics.md contain the truth, with few seeds and censored runs.

Times to the target are lognormal (spread 0.5 or 1 of their logarithm), or with heavier tails, or with a
skewed ratio; the runs of one seed are correlated (0.5), every time is rounded up to a whole epoch, and runs
end at a common last epoch, chosen so that a given share of the baseline's runs is censored. The truth is
known, so each interval contains it or not.

    python benchmarks/interval_coverage.py [--repeats 2000]
"""

import argparse
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, median

from semfocus.analysis.statistics import Speedup, Time, median_time, paired_speedup, restricted_mean
from semfocus.analysis.statistics.order import median_place, t_factor

NUM_SEEDS = (2, 3, 5, 10)
CENSORED = (0.0, 0.2, 0.5)
CORRELATION = 0.5
Bounds = tuple[float | None, float | None]
Times = dict[int, Time]


@dataclass(frozen=True)
class World:
    """Where the times come from."""

    name: str
    epochs: float = 40  # the baseline's median
    speedup: float = 3
    spread: float = 0.5
    heavy_tails: bool = False
    skewed: bool = False  # the baseline is late now and then, the arm never


WORLDS = (
    World("speedup 3"),
    World("speedup 1", speedup=1),
    World("speedup 0.5: the arm is slower", speedup=0.5),
    World("speedup 3, wide spread", spread=1.0),
    World("speedup 3, heavy tails", heavy_tails=True),
    World("speedup 3, skewed", skewed=True),
    World("speedup 3, median of 4 epochs", epochs=4),
)


def noise(draw: random.Random, world: World) -> float:
    normal = draw.gauss(0, 1)
    # Student's t with 3 degrees of freedom, scaled to variance 1
    return normal / math.sqrt(draw.gammavariate(1.5, 2 / 3) * 3) if world.heavy_tails else normal


def own_noise(draw: random.Random, world: World, is_baseline: bool) -> float:
    """What the runs of one seed do not share; its median is 0."""
    if world.skewed:
        return draw.expovariate(1) - math.log(2) if is_baseline else 0.0
    return noise(draw, world)


def last_epoch(world: World, censored: float) -> float:
    """The epoch that this share of the baseline's (lognormal) times exceeds."""
    if censored == 0:
        return math.inf
    return float(round(world.epochs * math.exp(world.spread * NormalDist().inv_cdf(1 - censored))))


def study(draw: random.Random, world: World, num: int, censored: float) -> tuple[Times, Times]:
    """Times of the baseline and of the arm, by seed."""
    end = last_epoch(world, censored)
    arms: tuple[Times, Times] = ({}, {})
    for seed in range(num):
        shared = noise(draw, world)
        for arm, centre in zip(arms, (world.epochs, world.epochs / world.speedup), strict=True):
            own = own_noise(draw, world, is_baseline=arm is arms[0])
            log = math.sqrt(CORRELATION) * shared + math.sqrt(1 - CORRELATION) * own
            epoch = float(math.ceil(centre * math.exp(world.spread * log)))
            arm[seed] = Time(epoch, True, 1.0) if epoch <= end else Time(end, False)
    return arms


def ours(base: Times, arm: Times) -> Bounds:
    speedup = paired_speedup(base, arm)
    return speedup.low, speedup.high


def range_of_seeds(base: Times, arm: Times) -> Bounds:
    pairs = paired_speedup(base, arm).pairs
    return min(pair.ratio_low for pair in pairs), max(pair.ratio_high for pair in pairs)


def as_if_exact(base: Times, arm: Times) -> Bounds:
    """A censored run counts as if it had arrived at its last epoch."""
    return _t([math.log(base[seed].value / arm[seed].value) for seed in base])


def without_censored(base: Times, arm: Times) -> Bounds:
    return _t(
        [
            math.log(base[seed].value / arm[seed].value)
            for seed in base
            if base[seed].reached and arm[seed].reached
        ]
    )


def _t(logs: Sequence[float]) -> Bounds:
    if len(logs) < 2:
        return None, None
    mean = fmean(logs)
    width = t_factor(len(logs) - 1) * math.sqrt(
        sum((log - mean) ** 2 for log in logs) / (len(logs) - 1) / len(logs)
    )
    return math.exp(mean - width), math.exp(mean + width)


METHODS: dict[str, Callable[[Times, Times], Bounds]] = {
    "semfocus": ours,
    "range": range_of_seeds,
    "as if arrived": as_if_exact,
    "left out": without_censored,
}


def contains(bounds: Bounds, truth: float) -> bool:
    low, high = bounds
    return (low is None or low <= truth * (1 + 1e-9)) and (high is None or truth <= high * (1 + 1e-9))


def speedup_rows(repeats: int) -> Iterator[list[str]]:
    for world in WORLDS:
        for num in NUM_SEEDS:
            for censored in CENSORED:
                draw = random.Random(f"{world.name} {num} {censored}")
                studies = [study(draw, world, num, censored) for _ in range(repeats)]
                covered = {
                    name: fmean(contains(method(*each), world.speedup) for each in studies)
                    for name, method in METHODS.items()
                }
                found: list[Speedup] = [paired_speedup(*each) for each in studies]
                lower = [each.low for each in found if each.low is not None]
                yield [
                    world.name,
                    str(num),
                    f"{censored:.0%}",
                    *(f"{100 * share:.1f}" for share in covered.values()),
                    f"{len(lower) / repeats:.0%}",
                    f"{sum(each.high is not None for each in found) / repeats:.0%}",
                    f"{median(lower):.2f}" if lower else "",
                ]


def true_restricted_mean(world: World, horizon: float) -> float:
    """The mean of min(whole epochs, horizon): the sum of P(time > epoch) over the epochs before the horizon."""
    logs = NormalDist(math.log(world.epochs), world.spread)
    return 1 + sum(1 - logs.cdf(math.log(epoch)) for epoch in range(1, int(horizon)))


def time_rows(repeats: int) -> Iterator[list[str]]:
    for world in (WORLDS[0], WORLDS[3]):
        for num in NUM_SEEDS:
            for censored in CENSORED:
                draw = random.Random(f"{world.name} {num} {censored}")
                horizon = last_epoch(world, censored)
                horizon = 400.0 if math.isinf(horizon) else horizon
                truth = true_restricted_mean(world, horizon)
                medians, means, limits = [], [], []
                for _ in range(repeats):
                    base, _arm = study(draw, world, num, censored)
                    durations = [time.value for time in base.values()]
                    reached = [time.reached for time in base.values()]
                    found = median_time(durations, reached)
                    medians.append(contains((found.low, found.high), world.epochs))
                    limits.append(found.high is not None)
                    mean = restricted_mean(durations, reached, horizon)
                    means.append(contains((mean.low, mean.high), truth))
                yield [
                    world.name,
                    str(num),
                    f"{censored:.0%}",
                    "no interval" if median_place(num) is None else f"{100 * fmean(medians):.1f}",
                    f"{fmean(limits):.0%}",
                    f"{100 * fmean(means):.1f}",
                ]


def print_markdown(headings: Sequence[str], rows: Iterator[list[str]]) -> None:
    print("| " + " | ".join(headings) + " |")
    print("|" + "---|" * len(headings), flush=True)
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2000, help="simulated studies a row")
    repeats = parser.parse_args(arguments).repeats
    print(f"Share of {repeats} simulated studies whose interval contains the true speedup, in %\n")
    print_markdown(
        (
            "times",
            "seeds",
            "censored",
            *METHODS,
            "has a lower limit",
            "has an upper limit",
            "median lower limit",
        ),
        speedup_rows(repeats),
    )
    print("\nThe same for the median and the restricted mean of one arm's epochs\n")
    print_markdown(
        ("times", "seeds", "censored", "median", "has an upper limit", "restricted mean"), time_rows(repeats)
    )


if __name__ == "__main__":
    main()
