"""How often a study with few seeds ends with a verdict, and how often with a wrong one, before and after version 0.2.

Log ratios of the seeds are normal with the scatter measured in `small` (standard deviation 0.25). Before:
Student's t up to 5 pairs, order statistics from 6 on, "no gain" where the upper limit is below 1.1. After:
the inverted sign-flip test from 6 pairs on, equivalence where the 90 % interval lies within a factor of 1.25.
Then studies that end once they are decided.

    python benchmarks/verdict_power.py [--repeats 2000]
"""

import argparse
import math
from collections.abc import Callable, Iterator, Sequence
from statistics import fmean

import numpy

from interval_coverage import print_markdown
from semfocus.analysis.statistics import Speedup, Time, paired_speedup
from semfocus.analysis.statistics.order import median_place, t_factor
from semfocus.analysis.statistics.pooling import pooled_speedup
from semfocus.analysis.statistics.sequential import LOOKS

SPREAD = 0.25
NUM_SEEDS = range(3, 13)
#: epochs are so many that rounding to whole ones does not matter
EPOCHS = 1e6
Limits = tuple[float, float]


def study(logs: Sequence[float], alpha: float = 0.05) -> Speedup:
    base = {seed: Time(EPOCHS * math.exp(log), True) for seed, log in enumerate(logs)}
    return paired_speedup(base, {seed: Time(EPOCHS, True) for seed in base}, alpha)


def before(logs: Sequence[float]) -> Limits:
    """The interval of version 0.1."""
    ordered, num = sorted(logs), len(logs)
    place = median_place(num)
    if place is not None:
        return ordered[place], ordered[-1 - place]
    mean = fmean(logs)
    error = math.sqrt(sum((log - mean) ** 2 for log in logs) / (num - 1) / num)
    return mean - t_factor(num - 1) * error, mean + t_factor(num - 1) * error


def after(logs: Sequence[float]) -> Limits:
    found = study(logs)
    assert found.low is not None
    assert found.high is not None
    return math.log(found.low), math.log(found.high)


def share(draws: "numpy.ndarray", holds: Callable[[Sequence[float]], bool]) -> str:
    return f"{100 * fmean(holds(list(each)) for each in draws):.1f}"


def rows(repeats: int) -> Iterator[list[str]]:
    """By the number of seeds: coverage, verdicts for a true 1.3x, and for no difference."""
    for num in NUM_SEEDS:
        noise = numpy.random.default_rng(num).normal(0, SPREAD, (repeats, num))
        faster = noise + math.log(1.3)
        yield [
            str(num),
            share(noise, lambda logs: before(logs)[0] <= 0 <= before(logs)[1]),
            share(noise, lambda logs: after(logs)[0] <= 0 <= after(logs)[1]),
            share(faster, lambda logs: before(logs)[0] > 0),
            share(faster, lambda logs: after(logs)[0] > 0),
            share(noise, lambda logs: before(logs)[1] < math.log(1.1)),
            share(noise, lambda logs: study(logs).is_equivalent),
        ]


def pooled_rows(repeats: int) -> Iterator[list[str]]:
    """Six tasks whose true log speedups scatter by 0.2 between tasks, pooled."""
    for num in (3, 5, 6, 8):
        draw = numpy.random.default_rng(num)
        counts = dict.fromkeys(("these", "average", "new", "faster", "wrong", "alike"), 0)
        for _ in range(repeats):
            truths = draw.normal(math.log(1.3), 0.2, 6)
            found = pooled_speedup(
                {str(task): study(draw.normal(each, SPREAD, num)) for task, each in enumerate(truths)}
            )
            assert found.low is not None
            assert found.high is not None
            assert found.on_average is not None
            assert found.new_task is not None
            counts["these"] += found.low <= math.exp(truths.mean()) <= found.high
            counts["average"] += found.on_average[0] <= 1.3 <= found.on_average[1]
            counts["new"] += (
                found.new_task[0] <= math.exp(draw.normal(math.log(1.3), 0.2)) <= found.new_task[1]
            )
            counts["faster"] += found.low > 1
            null = pooled_speedup({str(task): study(draw.normal(0, SPREAD, num)) for task in range(6)})
            counts["wrong"] += null.p <= 0.05
            counts["alike"] += null.is_equivalent
        yield [f"6 x {num}", *(f"{100 * count / repeats:.1f}" for count in counts.values())]


def sequential_rows(repeats: int) -> Iterator[list[str]]:
    """Six seeds first, ten where six do not decide."""
    for ratio in (1.0, 1.3, 2.0, 5.0):
        draw = numpy.random.default_rng(int(10 * ratio))
        seeds, wrong, right, covered = [], 0, 0, 0
        for _ in range(repeats):
            logs = list(draw.normal(math.log(ratio), SPREAD, LOOKS[-1].seeds))
            for look in LOOKS:
                found = study(logs[: look.seeds], look.alpha)
                if found.is_ahead or found.is_behind or found.is_equivalent:
                    break
            assert found.low is not None
            assert found.high is not None
            seeds.append(found.num_pairs)
            claims = found.is_ahead or found.is_behind
            right += claims and ratio != 1 and found.is_ahead
            wrong += claims and not (ratio != 1 and found.is_ahead)
            covered += found.low <= ratio <= found.high
        yield [
            f"{ratio:g}x",
            f"{fmean(seeds):.1f}",
            *(f"{100 * count / repeats:.1f}" for count in (right, wrong, covered)),
        ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=2000, help="simulated studies a row")
    repeats = parser.parse_args(arguments).repeats
    print(f"One task, shares of {repeats} simulated studies in %\n")
    print_markdown(
        (
            *("seeds", "contains the truth, before", "after", "1.3x: faster, before", "after"),
            *("no difference: no gain, before", "equivalent, after"),
        ),
        rows(repeats),
    )
    print("\nPooled over six tasks\n")
    print_markdown(
        (
            *("tasks x seeds", "contains: these tasks", "tasks on average", "a new task", "1.3x: faster"),
            *("no difference: wrong verdict", "no difference: equivalent"),
        ),
        pooled_rows(max(1, repeats // 4)),
    )
    print("\nOne task, until decided\n")
    print_markdown(
        ("true speedup", "seeds on average", "right verdict", "wrong verdict", "interval contains the truth"),
        sequential_rows(repeats),
    )


if __name__ == "__main__":
    main()
