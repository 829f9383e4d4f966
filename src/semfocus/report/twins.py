"""What one replaced training sample changed, where a study measured it (studies/twins.py)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from semfocus.counts import count_of, with_span
from semfocus.report.sampling import Record, Values
from semfocus.studies.arms import BASELINE
from semfocus.studies.stability_inputs import stability_along, stability_guide
from semfocus.studies.wording import number

if TYPE_CHECKING:
    from semfocus.runs import Store

#: of a record that `with_twins` made
KEY = "twins"
COLUMNS = (
    "last distance of parameters",
    "the same / norm",
    "last change of held-out loss",
    "largest gradient of the sample",
    "largest change of a loss / distance",
    "largest change of a gradient / distance",
    "stability bound / largest loss: a guide",
)
#: as a terminal has room for them
SHORT_COLUMNS = ("distance", "/ norm", "loss change", "gradient", "loss / dist.", "grad. / dist.", "bound")


def with_twins(store: "Store", records: Iterable[Record]) -> list[dict[str, Any]]:
    """The records, each with the distances from its twins, if it has any that can be read."""
    from semfocus.runs.directory import DamagedRun

    directories = {directory.name: directory for directory in store.directories()}
    found = []
    for record in records:
        directory = directories.get(str(record.get("run")))
        try:
            twins = directory.twins() if directory is not None else []
        except (DamagedRun, OSError):
            twins = []
        found.append({**record, KEY: twins} if twins else dict(record))
    return found


@dataclass(frozen=True)
class TwinTable:
    """For each arm its pairs, each with its seed."""

    arms: dict[str, list[tuple[object, Mapping[str, Any]]]]
    columns: tuple[str, ...] = COLUMNS

    @property
    def epochs(self) -> list[int]:
        """Every epoch that any pair has a row of."""
        return sorted(
            {row["epoch"] for pairs in self.arms.values() for _, each in pairs for row in each["rows"]}
        )

    def curves(self, column: str) -> dict[str, list[tuple[object, Values]]]:
        """For each arm, for each pair, the column by epoch; what is 0, before the twins part, is not there."""
        return {
            label: [
                (seed, [known.get(epoch) or None for epoch in self.epochs])
                for seed, each in pairs
                for known in [{row["epoch"]: row.get(column) for row in each["rows"]}]
            ]
            for label, pairs in self.arms.items()
        }

    def bounds(self, epochs: Sequence[int]) -> dict[str, list[tuple[object, Values]]]:
        """For each arm, for each pair, the bound of the theory at these epochs, as a share of the largest loss."""
        return {
            label: [(seed, stability_along(each, epochs)) for seed, each in pairs]
            for label, pairs in self.arms.items()
        }

    def rows(self, spread: bool = True) -> list[list[str]]:
        """For each arm its name and for each of COLUMNS the median, with the smallest and the largest if wanted."""
        return [[label, *_cells([each for _, each in pairs], spread)] for label, pairs in self.arms.items()]

    def sentences(self, baseline: str = BASELINE) -> list[str]:
        """For every other arm, how many times as far from its twin it got as the baseline did, seed by seed."""
        base = {(seed, each["replaced"]): each for seed, each in self.arms.get(baseline, [])}
        found = []
        for label, pairs in self.arms.items():
            if label == baseline:
                continue
            both = [
                (seed, each, base[seed, each["replaced"]])
                for seed, each in pairs
                if (seed, each["replaced"]) in base
            ]
            diverged = sum(any(each.get("diverged") for each in (one, other)) for _, one, other in both)
            without = f"; {diverged} left out, in which a twin diverged" if diverged else ""
            ratios = {key: _ratios(both, key) for key in ("distance", "held_out_loss")}
            if all(ratios.values()):
                num = len({seed for seed, _ in ratios["distance"]})
                found.append(
                    f"One training sample replaced: at the end the parameters of {label} were "
                    f"{_times(ratios['distance'])} as far from their twin's as those of {baseline}, "
                    f"its held-out losses {_times(ratios['held_out_loss'])} as far ({count_of(num, 'seed')}{without})."
                )
        return found


def twin_table(arms: Mapping[str, Sequence[Record]]) -> TwinTable | None:
    """The pairs of a comparison; None if there are none."""
    found = {
        label: [
            (record.get("spec", {}).get("seed"), each) for record in records for each in record.get(KEY) or ()
        ]
        for label, records in arms.items()
    }
    there = {label: pairs for label, pairs in found.items() if any(each["rows"] for _, each in pairs)}
    return TwinTable(there) if there else None


def _ratios(
    both: Sequence[tuple[object, Mapping[str, Any], Mapping[str, Any]]], key: str
) -> list[tuple[object, float]]:
    """By seed, last values of two arms, the first by the second; without pairs that never parted, diverged, or ended elsewhere."""
    found = []
    for seed, one, other in both:
        if one["rows"] and other["rows"] and not one.get("diverged") and not other.get("diverged"):
            ends = one["rows"][-1], other["rows"][-1]
            if ends[0]["epoch"] == ends[1]["epoch"] and all(each.get(key) for each in ends):
                found.append((seed, ends[0][key] / ends[1][key]))
    return found


def _times(by_seed: Sequence[tuple[object, float]]) -> str:
    ratios = sorted(ratio for _, ratio in by_seed)
    return with_span(f"{number(median(ratios))} times", number(ratios[0]), number(ratios[-1]))


def _cells(pairs: Sequence[Mapping[str, Any]], spread: bool) -> list[str]:
    last = [each["rows"][-1] for each in pairs if each["rows"] and not each.get("diverged")]
    columns = [[row.get(key) for row in last] for key in ("distance", "relative_distance", "held_out_loss")]
    columns += [
        [each.get(key) for each in pairs]
        for key in ("largest_sample_gradient", "largest_loss_ratio", "largest_gradient_ratio")
    ]
    columns.append([stability_guide(each) for each in pairs])
    return [_middle(values, spread) for values in columns]


def _middle(values: Iterable[Any], spread: bool) -> str:
    known = sorted(float(value) for value in values if isinstance(value, int | float))
    if not known:
        return "-"
    middle, low, high = (f"{each:.2g}" for each in (median(known), known[0], known[-1]))
    return with_span(middle, low, high) if spread else middle
