"""Twins: what one training sample changes, told by the same run with that sample replaced."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar

from semfocus.measurements.measurement import Measurement, Notify, Part
from semfocus.runs.arms import BASELINE, flat, nested
from semfocus.runs.record import Record
from semfocus.words import count_of, number, with_span

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory

#: seconds to wait for another process that adds a twin of its own
_PATIENCE = 10.0

Distances = dict[str, Any]

Values = list[float | None]


@dataclass(frozen=True)
class Twins(Measurement):
    """`MEASURE = [Twins()]` in a recipe; `replaced`: the number of the training sample.

    Both are trained side by side, from the start to the epoch limit; they leave only their distances.
    """

    name: ClassVar[str] = "twins"
    problem: ClassVar[str] = "has no twin"
    exported_as: ClassVar[str | None] = "twins"
    columns: ClassVar[tuple[str, ...]] = ("replaced", "epoch", "distance", "relative_distance")

    replaced: int = 0

    def __str__(self) -> str:
        return "every run is trained again beside a twin with one sample replaced"

    def missing(self, directory: "RunDirectory", device: str, threads: int) -> Sequence[Part]:
        return [] if self.replaced in _known(directory) else [self.replaced]

    def is_known(self, directory: "RunDirectory", part: Part) -> bool:
        return self.replaced in _known(directory)

    def compute(
        self, directory: "RunDirectory", part: Part, *, device: str, threads: int, notify: Notify
    ) -> Distances:
        from semfocus.runs import RunSpec
        from semfocus.training.device import limited_threads, resolve_device
        from semfocus.training.twin_training import train_twins

        with limited_threads(threads):
            found, _, _ = train_twins(RunSpec(**directory.spec()), self.replaced, resolve_device(device))
        return found.as_values()

    def keep(self, directory: "RunDirectory", part: Part, found: Distances) -> None:
        with directory.owned(_PATIENCE):  # another process may have added some meanwhile
            both = _known(directory) | {self.replaced: found}
            directory.keep(self.name, [both[key] for key in sorted(both)])

    @classmethod
    def table(cls, record: Record) -> list[dict[str, Any]]:
        """A row per epoch: how far apart the two are, and what is known of both together, the same in every row."""
        return [
            {"replaced": each["replaced"], **flat(row), **flat({"pair": _without_rows(each)})}
            for each in record.measured(cls.name)
            for row in each["rows"]
        ]

    @classmethod
    def from_table(cls, rows: list[dict[str, Any]]) -> dict[str, list[Distances]]:
        pairs: dict[int, Distances] = {}
        for row in rows:
            known = nested({key: value for key, value in row.items() if value is not None})
            both = known.pop("pair", {})
            pairs.setdefault(known.pop("replaced"), {**both, "rows": []})["rows"].append(known)
        return {cls.name: [{"replaced": replaced, **pair} for replaced, pair in sorted(pairs.items())]}


def _without_rows(pair: Distances) -> Distances:
    return {key: value for key, value in pair.items() if key not in ("replaced", "rows")}


def _known(directory: "RunDirectory") -> dict[int, Distances]:
    return {each["replaced"]: each for each in directory.kept(Twins.name)}


def stability_inputs(twins: Mapping[str, Any]) -> dict[str, Any]:
    """What was observed, under the names that `theory.stability_schedule` gives to what should be known.

    The theory wants upper bounds for all weights and samples; these are the largest values on two paths, the
    gradient that of the replaced sample alone, before clipping. A bound computed from them is a guide, not a
    guarantee (cross-entropy has no upper limit, ReLU and top-k no second derivative). It is about plain
    gradient steps of one size: other runs are refused.
    """
    if not twins["is_plain_descent"]:
        raise ValueError("the bound is about gradient steps of one size for all parameters")
    return {
        "steps": [rate for rate in twins["learning_rates"] for _ in range(twins["steps_per_epoch"])],
        "L_grad": twins["largest_sample_gradient"],
        "L_pair": twins["largest_loss_ratio"],
        "beta": twins["largest_gradient_ratio"],
        "n": twins["num_train"],
        "M": twins["largest_loss"],
        "batch": twins["batch_size"],
    }


def stability_guide(twins: Mapping[str, Any]) -> float | None:
    """`theory.stability_schedule` with observed numbers, as a share of the largest loss seen: 1 says nothing at all.

    None where the twins lack a number that it needs, or made no step.
    """
    from semfocus.theory import stability_schedule

    try:
        inputs = stability_inputs(twins)
        bound, _ = stability_schedule(**inputs)
        return bound / inputs["M"] if inputs["steps"] else None
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def stability_along(twins: Mapping[str, Any], epochs: Sequence[int]) -> list[float | None]:
    """The guide after each of these epochs, with the numbers of the whole training; None before the first step."""
    return [
        stability_guide({**twins, "learning_rates": (twins.get("learning_rates") or ())[:epoch]})
        if epoch
        else None
        for epoch in epochs
    ]


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
    found: dict[str, list[tuple[object, Mapping[str, Any]]]] = {
        label: [(record.spec.get("seed"), each) for record in records for each in record.measured(Twins.name)]
        for label, records in arms.items()
    }
    there = {label: pairs for label, pairs in found.items() if any(each["rows"] for _, each in pairs)}
    return TwinTable(there) if there else None


def _ratios(
    both: Sequence[tuple[object, Mapping[str, Any], Mapping[str, Any]]], key: str
) -> list[tuple[object, float]]:
    """By seed, last values of two arms, the first by the second; without pairs that never parted, diverged,
    or ended elsewhere.
    """
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
