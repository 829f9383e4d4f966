"""Sharper scores as a 2 x 2 factorial: a larger start, a faster rate of queries and keys; do the two multiply?

    python benchmarks/factorial.py results

reads exported tables. Per task and over tasks, each counting the same: the speedup over full attention of the
start, the rate, both, and scores x 10, as geometric means over seeds with intervals as everywhere else
(sign-flip test from 6 pairs on, Student's t from 3), and the interaction, the speedup of both over the
product of the two: 1 if they multiply. Seeds on which all four runs arrived.
"""

import argparse
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev

from semfocus.analysis.statistics.order import t_factor
from semfocus.analysis.statistics.significance import ALPHA, sign_flip_interval
from semfocus.analysis.statistics.speedup import FEWEST_FLIPPED, FEWEST_NORMAL
from semfocus.analysis.summaries import TaskSummary, analyse, by_setting
from semfocus.report.export import folders_of_tables, read_export

START, RATE = "full q/k start \N{MULTIPLICATION SIGN}3.1623", "full q/k rate \N{MULTIPLICATION SIGN}10"
BOTH = f"{START} q/k rate \N{MULTIPLICATION SIGN}10"
SHARP = "full \N{MULTIPLICATION SIGN}10"
#: by name, the power of each arm's time, so that their product is the effect
EFFECTS: Mapping[str, Mapping[str, int]] = {
    "start": {"full": 1, START: -1},
    "rate": {"full": 1, RATE: -1},
    "both": {"full": 1, BOTH: -1},
    "x10": {"full": 1, SHARP: -1},
    "interaction": {START: 1, RATE: 1, "full": -1, BOTH: -1},
    "interaction of x10": {START: 1, RATE: 1, "full": -1, SHARP: -1},
}


def logs_of(times: Mapping[str, Mapping[int, float]], powers: Mapping[str, int]) -> list[float]:
    """The effect on each seed that has all of its arms; `times` by arm and seed, of runs that arrived."""
    seeds = set.intersection(*({*times.get(arm, {})} for arm in powers))
    return [math.fsum(n * math.log(times[arm][seed]) for arm, n in powers.items()) for seed in sorted(seeds)]


def effect(tasks: Sequence[Sequence[float]]) -> tuple[float, float, float]:
    """The geometric mean, each task counting the same, and its interval."""
    values = [value for each in tasks for value in each]
    weights = [1 / len(each) for each in tasks for _ in each]
    middle = fmean(values, weights)
    low, high = sign_flip_interval(values, ALPHA, weights) if len(values) >= FEWEST_FLIPPED else (None, None)
    if low is None or high is None:
        few = len(values) < FEWEST_NORMAL or len(tasks) > 1
        error = math.inf if few else t_factor(len(values) - 1) * stdev(values) / math.sqrt(len(values))
        low, high = middle - error, middle + error
    return math.exp(middle), math.exp(low), math.exp(high) if high < math.inf else math.inf


def times_of(summary: TaskSummary) -> dict[str, dict[int, float]]:
    return {
        arm.label: {seed: time.value for seed, time in arm.times.items() if time.reached and time.value > 0}
        for arm in summary.arms
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("results", type=Path)
    summaries = analyse(read_export(folders_of_tables(parser.parse_args(arguments).results)))
    for group in by_setting([each for each in summaries if {START, RATE, "full"} <= times_of(each).keys()]):
        print(f"{len(group)} tasks at one setting")
        for name, powers in EFFECTS.items():
            known = {each.comparison.title: logs_of(times_of(each), powers) for each in group}
            known = {task: logs for task, logs in known.items() if logs}
            lines = {task: [logs] for task, logs in known.items()}
            for task, logs in {**lines, "all tasks": list(known.values())}.items():
                if logs:
                    middle, low, high = effect(logs)
                    num = sum(map(len, logs))
                    print(f"  {name:20}{task:22}{middle:7.2f} [{low:.2f}, {high:.2f}], {num} seeds")


if __name__ == "__main__":
    main()
