"""Dispersion of two arms along training, seed by seed: do they disperse alike where one learns sooner?

    python benchmarks/equal_dispersion.py results/why [--arms "top_k(5) x4 vs full"] [--epochs 0,20,40,100,200,400]

reads exported tables. By task and epoch, on held-out data and over all layers: the median over seeds of the
median over queries, the 75 % quantile in brackets, and the ratio seed by seed (smallest, median, largest of the
medians over queries).
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from interval_coverage import print_markdown
from semfocus.analysis.comparisons import comparisons
from semfocus.measurements.interior import rows_inside, rows_noted_along
from semfocus.report.export import read_export
from semfocus.runs.record import Record
from semfocus.studies.selection import read_contrasts

QUANTILES = ("50", "75")
#: by epoch and seed, the two quantiles
Found = dict[int, dict[int, tuple[float, ...]]]


def dispersion_of(records: Sequence[Record]) -> Found:
    """Of the runs of one arm, under its own pattern."""
    found: Found = {}
    for record in records:
        for row in (*rows_inside(record), *rows_noted_along(record)):
            place = (row["quantity"], row["data"], row["layer"], row["counterfactual"])
            if place == ("dispersion", "held_out", None, False):
                values = tuple(float(row["quantiles"][quantile]) for quantile in QUANTILES)
                found.setdefault(row["epoch"], {})[record["spec"]["seed"]] = values
    return found


def rows(records: Sequence[Record], arm: str, baseline: str, epochs: Sequence[int]) -> Iterator[list[str]]:
    for each in comparisons(records):
        ours, theirs = (dispersion_of(each.arms.get(label, ())) for label in (arm, baseline))
        for epoch in epochs:
            both = sorted(ours.get(epoch, {}).keys() & theirs.get(epoch, {}).keys())
            if both:
                cells = [_cell([found[epoch][seed] for seed in both]) for found in (theirs, ours)]
                ratios = [ours[epoch][seed][0] / theirs[epoch][seed][0] for seed in both]
                spread = ", ".join(f"{value:.3g}" for value in (min(ratios), median(ratios), max(ratios)))
                yield [each.title, str(epoch), *cells, spread, str(len(both))]


def _cell(values: Sequence[tuple[float, ...]]) -> str:
    middle, high = (median(each[place] for each in values) for place in (0, 1))
    return f"{middle:.3g} ({high:.3g})"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of exported runs")
    parser.add_argument("--arms", default="top_k(5) x4 vs full")
    parser.add_argument("--epochs", default="0,20,40,100,200,400")
    chosen = parser.parse_args(arguments)
    ((arm, baseline),) = read_contrasts([chosen.arms.split(" vs ")])
    records, epochs = read_export([chosen.folder]), list(map(int, chosen.epochs.split(",")))
    columns = ("task", "epoch", baseline, arm, "ratio by seed", "seeds")
    print_markdown(columns, rows(records, arm, baseline, epochs))


if __name__ == "__main__":
    main()
