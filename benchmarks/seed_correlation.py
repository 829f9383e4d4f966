"""Whether the log ratios of one seed on several tasks go together: the pooled sign-flip test counts its pairs
as independent.

For every arm against full over tasks at one setting, from exported runs: the correlation of a seed's
deviations from the means of its tasks (0: independent), p of as much by permuting the seeds inside each task,
and the p of the pooled test with pairs flipped one by one, as `semfocus` does, and with all pairs of a seed
flipped together.

    python benchmarks/seed_correlation.py results
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

PERMUTATIONS = 10_000
FEWEST_SEEDS = 5


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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of exported runs")
    found = list(rows(parser.parse_args(arguments).folder))
    titles = ["contrast", "tasks x seeds", "correlation", "p of it", "pooled p, pairs", "pooled p, seeds"]
    print_markdown(titles, iter(found))
    values = sorted(float(each[2]) for each in found)
    print(f"\n{len(values)} contrasts, median correlation {numpy.median(values):+.2f}")


if __name__ == "__main__":
    main()
