"""What happens after a run has first reached its target: for how many epochs it is below it again.

    python benchmarks/first_passages.py results/small [--target 0.95]

reads exported tables. By task and arm, a number per seed (in the order of the seeds, runs that arrived alone):
epochs below the target after the first passage, of the epochs that were left.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from interval_coverage import print_markdown
from semfocus.analysis.comparisons import comparisons
from semfocus.report.export import read_export
from semfocus.runs.record import Record

ARMS = ("full", "full \N{MULTIPLICATION SIGN}4", "top_k(5)")


def after_passage(record: Record, target: float) -> tuple[int, int] | None:
    """Epochs below the target after the first at or above it, and epochs after it; None for a run that never was.

    >>> after_passage(Record({"curve": {"train_accuracy": [0.5, 0.96, 0.9, 0.97]}}), 0.95)
    (1, 2)
    """
    accuracies = record.curve.get("train_accuracy", [])
    first = next((place for place, value in enumerate(accuracies) if value >= target), None)
    if first is None:
        return None
    left = accuracies[first + 1 :]
    return sum(value < target for value in left), len(left)


def rows(records: Sequence[Record], target: float) -> Iterator[list[str]]:
    for each in comparisons(records):
        cells = []
        for label in ARMS:
            found = [
                passed for record in each.arms.get(label, ()) if (passed := after_passage(record, target))
            ]
            below, left = (" ".join(str(passed[place]) for passed in found) for place in (0, 1))
            cells.append(f"{below} of {left}" if found else "")
        if any(cells):
            yield [each.title, *cells]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of exported runs")
    parser.add_argument("--target", type=float, default=0.95)
    chosen = parser.parse_args(arguments)
    records = [record for record in read_export([chosen.folder]) if record.state == "done" and record.curve]
    print_markdown(("task", *ARMS), rows(records, chosen.target))


if __name__ == "__main__":
    main()
