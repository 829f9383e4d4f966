"""Whether the log ratios of one seed on several tasks go together: the pooled sign-flip test counts its pairs
as independent.

For every arm against full over tasks at one setting, from exported runs: the correlation of a seed's
deviations from the means of its tasks (0: independent), p of as much by permuting the seeds inside each task,
and the p of the pooled test with pairs flipped one by one, as `semfocus` does, and with all pairs of a seed
flipped together.

    python benchmarks/seed_correlation.py results

With --simulate instead, how often either test finds a difference (p at most 0.05) where log ratios have the
scatter of `small` and a correlation between the tasks of a seed:

    python benchmarks/seed_correlation.py --simulate 2000
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy

from interval_coverage import print_markdown
from semfocus.analysis.findings import Finding, findings_of
from semfocus.analysis.statistics import Speedup, sign_flip_p
from semfocus.analysis.summaries import analyse
from semfocus.report.export import read_export
from verdict_power import SPREAD

PERMUTATIONS = 10_000
FEWEST_SEEDS = 5
#: tasks and seeds of a study: `small` as it was, the controls, and what six seeds allow
SIZES = ((6, 5), (5, 8), (6, 6))
CORRELATIONS = (0.0, 0.05, 0.1, 0.2, 0.34)


def by_seed(tasks: Sequence[Speedup]) -> "numpy.ndarray":
    """Tasks by the seeds that all of them have: log ratios."""
    logs = [{pair.seed: pair.nearest_log for pair in each.pairs} for each in tasks]
    seeds = sorted(set.intersection(*(set(each) for each in logs)))
    return numpy.array([[each[seed] for seed in seeds] for each in logs])


def correlation(residuals: "numpy.ndarray") -> "numpy.ndarray":
    """Mean product of two tasks over the mean square of one; residuals (..., tasks, seeds) from the means of
    the tasks.
    """
    num = residuals.shape[-2]
    squares = (residuals**2).sum(axis=(-2, -1))
    products = (residuals.sum(axis=-2) ** 2).sum(axis=-1) - squares
    return products / ((num - 1) * squares)


def row(finding: Finding) -> list[str] | None:
    tasks = [each for each in finding.speedup.tasks.values() if each.num_pairs >= FEWEST_SEEDS]  # type: ignore[union-attr]
    logs = by_seed(tasks) if len(tasks) > 1 else numpy.zeros((0, 0))
    if logs.shape[-1] < FEWEST_SEEDS:
        return None
    # a task on which nobody differs, or nobody arrived, has no deviations
    residuals = logs - logs.mean(axis=1, keepdims=True)
    residuals = residuals[(residuals**2).sum(axis=1) > 0]
    # tasks whose seeds scatter more must not decide alone
    residuals /= numpy.sqrt((residuals**2).mean(axis=1, keepdims=True))
    found = float(correlation(residuals))
    draw = numpy.random.default_rng(0)
    shuffled = draw.permuted(numpy.broadcast_to(residuals, (PERMUTATIONS, *residuals.shape)), axis=-1)
    as_large = (1 + (correlation(shuffled) >= found - 1e-12).sum()) / (1 + PERMUTATIONS)
    return [
        str(finding.contrast),
        f"{len(residuals)} x {logs.shape[1]}",
        f"{found:+.2f}",
        f"{as_large:.3g}",
        f"{sign_flip_p(list(logs.ravel())):.2g}",
        f"{sign_flip_p(list(logs.sum(axis=0))):.2g}",
    ]


def rows(folder: Path) -> Iterator[list[str]]:
    records = [record for record in read_export([folder]) if record.curve]
    for finding in findings_of(analyse(records)):
        found = row(finding) if finding.task is None else None
        if found is not None:
            yield found


def simulated(repeats: int) -> Iterator[list[str]]:
    """By size and correlation: the share of studies in % with p at most 0.05, pairs and seeds flipped, without
    a difference and for a true 1.3x.
    """
    for num_tasks, num_seeds in SIZES:
        for between in CORRELATIONS:
            draw = numpy.random.default_rng(num_tasks * num_seeds)
            found = numpy.zeros(4)
            for _ in range(repeats):
                shared = draw.normal(0, SPREAD, num_seeds)
                own = draw.normal(0, SPREAD, (num_tasks, num_seeds))
                noise = numpy.sqrt(between) * shared + numpy.sqrt(1 - between) * own
                for place, logs in enumerate((noise, noise + numpy.log(1.3))):
                    found[2 * place] += sign_flip_p(list(logs.ravel())) <= 0.05
                    found[2 * place + 1] += sign_flip_p(list(logs.sum(axis=0))) <= 0.05
            yield [
                f"{num_tasks} x {num_seeds}",
                f"{between:g}",
                *(f"{100 * share:.1f}" for share in found / repeats),
            ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("folder", type=Path, nargs="?", help="of exported runs")
    what.add_argument("--simulate", type=int, metavar="N", help="so many studies per row")
    chosen = parser.parse_args(arguments)
    if chosen.simulate:
        columns = ("tasks x seeds", "correlation", "wrong, pairs", "seeds", "1.3x found, pairs", "seeds")
        print_markdown(columns, simulated(chosen.simulate))
        return
    found = list(rows(chosen.folder))
    titles = ["contrast", "tasks x seeds", "correlation", "p of it", "pooled p, pairs", "pooled p, seeds"]
    print_markdown(titles, iter(found))
    values = sorted(float(each[2]) for each in found)
    print(f"\n{len(values)} contrasts, median correlation {numpy.median(values):+.2f}")


if __name__ == "__main__":
    main()
