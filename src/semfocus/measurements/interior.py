"""Inside: what is measured inside the model of a run, at some epochs and along its training."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from semfocus.measurements.measurement import Measurement, Notify, Part
from semfocus.runs.arms import BASELINE, arm_of
from semfocus.words import count_of

if TYPE_CHECKING:
    from semfocus.runs import RunDirectory, RunSpec
    from semfocus.runs.record import Record

DataPart = Literal["train", "held_out"]
PARTS: tuple[DataPart, ...] = ("train", "held_out")
Row = dict[str, Any]
#: sequences of each part that are looked at by default
SAMPLES = 256

#: of a row, what is there even where it has no value
_MAY_BE_NONE = ("layer", "head", "mean", "null")

#: few enough to be measured often and kept in the journal
ALONG_TRAINING = (
    "dispersion",
    "separation",
    "effective_keys",
    "focus_mass",
    "received_mass",
    "lambda_w_local",
    "gradient_norm_query_key",
    "gradient_norm_value_out",
    "mask_agreement_0.01",
)


@dataclass(frozen=True)
class Inside(Measurement):
    """`MEASURE = [Inside(epochs=("0", "last"))]` in a recipe.

    `epochs`: numbers, `last`, `best`, or `reaching:0.95`, which is passed over in runs that never got there. `patterns`
    are also applied to the scores of plain full attention, the baseline, and of no other arm. `every`: also on a few
    sequences every N epochs, while a run trains or, for a run that was trained without, by training it again.
    """

    name: ClassVar[str] = "inside"
    problem: ClassVar[str] = "could not be measured inside"
    exported_as: ClassVar[str | None] = "probes"
    columns: ClassVar[tuple[str, ...]] = (
        *("epoch", "data", "samples", "along", "quantity", "layer", "head", "pattern", "counterfactual"),
        *("num", "mean", "null"),
    )

    epochs: tuple[str, ...] = ("0", "last")
    data: tuple[DataPart, ...] = ("held_out",)
    samples: int = SAMPLES
    patterns: tuple[str, ...] = ()
    every: int | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "data", "patterns"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} must be a tuple of texts, got {getattr(self, name)!r}")
        if not self.epochs and self.every is None:
            raise ValueError("epochs must name one at least, or every must say how often, got neither")
        if self.samples < 1:
            raise ValueError(f"samples must be at least 1, got {self.samples}")
        if self.every is not None and self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")

    def __str__(self) -> str:
        when = " and ".join("untrained" if each == "0" else each for each in self.epochs)
        often = f"every {'epoch' if self.every == 1 else f'{self.every} epochs'}" if self.every else ""
        others = f", and {', '.join(self.patterns)} on the scores of full attention" if self.patterns else ""
        what = (
            f": {count_of(self.samples, 'sequence')} of {' and '.join(self.data)} data{others}"
            if when
            else ""
        )
        return f"it is measured inside the models ({', '.join(filter(None, (when, often)))}{what})"

    def of(self, spec: "RunSpec") -> "Inside":
        """The same for every run, but other patterns are put on the scores of the baseline alone."""
        is_baseline = arm_of(spec.model_dump(mode="json")).label == BASELINE
        return self if is_baseline else replace(self, patterns=())

    def missing(self, directory: "RunDirectory", device: str, threads: int) -> Sequence[Part]:
        from semfocus.measurements.run_probe import is_known
        from semfocus.measurements.training_probe import along_is_known

        found: list[Part] = [
            {"epoch": epoch}
            for epoch in self._epochs_of(directory)
            if not is_known(
                directory, epoch=epoch, data=self.data, samples=self.samples, patterns=self.patterns
            )
        ]
        along = self.every is not None and not along_is_known(directory, self.every)
        return [*found, {"every": self.every}] if along else found

    def compute(
        self, directory: "RunDirectory", part: Part, *, device: str, threads: int, notify: Notify
    ) -> list[Row]:
        from semfocus.measurements.run_probe import missing_rows
        from semfocus.measurements.training_probe import rows_along

        if "every" in part:
            return rows_along(directory, part["every"])
        return missing_rows(
            directory,
            epoch=part["epoch"],
            data=self.data,
            samples=self.samples,
            patterns=self.patterns,
            device=device,
            threads=threads,
        )

    def keep(self, directory: "RunDirectory", part: Part, found: list[Row]) -> None:
        add_rows(directory, found)

    @classmethod
    def table(cls, record: "Record") -> list[Row]:
        """A row per quantity, layer, head and epoch, those along training too (`along`); quantiles as columns."""
        rows = []
        for row in (*(record.get("probes") or ()), *record.measured(cls.name)):
            plain = {key: value for key, value in row.items() if key not in ("quantiles", "quantities")}
            quantiles = {f"q{percent}": value for percent, value in row["quantiles"].items()}
            along = not str(row.get("quantities", "along")).startswith("all")
            rows.append({**plain, "along": along, **quantiles})
        return rows

    @classmethod
    def from_table(cls, rows: list[Row]) -> dict[str, list[Row]]:
        """Those along training as a record of training has them, and those of single epochs."""
        found: dict[str, list[Row]] = {"probes": [], cls.name: []}
        for row in rows:
            plain = {key: value for key, value in row.items() if value is not None or key in _MAY_BE_NONE}
            along = plain.pop("along", False)
            quantiles = {
                key[1:]: plain.pop(key) for key in list(plain) if key[0] == "q" and key[1:].isdecimal()
            }
            label = {} if along else {"quantities": "all:exported"}
            found["probes" if along else cls.name].append({**plain, **label, "quantiles": quantiles})
        return found

    def _epochs_of(self, directory: "RunDirectory") -> list[str]:
        """Those of the plan, without accuracies that the run never reached."""
        from semfocus.training.replay import REACHING, epoch_reaching, readable_record

        record = readable_record(directory)
        return [
            epoch
            for epoch in self.epochs
            if not epoch.startswith(REACHING)
            or epoch_reaching(record, float(epoch.removeprefix(REACHING))) is not None
        ]


#: seconds to wait for another process that adds its own rows
_PATIENCE = 10.0
#: which rows are about the same thing: of these, the newest are kept
_SAME = ("epoch", "data", "samples", "pattern", "counterfactual")


def label_of(name: str, quantities: Sequence[str]) -> str:
    """`all:1f3a9c2e`: another version may know other quantities, and then rows of this one are not all there are."""
    digest = hashlib.sha256(json.dumps(sorted(quantities)).encode()).hexdigest()
    return f"{name}:{digest[:8]}"


def find_rows(
    rows: Sequence[Row], label: str, epoch: int, part: str, samples: int, pattern: str | None
) -> list[Row]:
    """The rows of the model's own pattern (None) or of another one on its scores."""
    return [
        row
        for row in rows
        if (row.get("quantities"), row["epoch"], row["data"], row["samples"]) == (label, epoch, part, samples)
        and (row["pattern"] == pattern if row["counterfactual"] else pattern is None)
    ]


def add_rows(directory: "RunDirectory", new: Sequence[Row]) -> list[Row]:
    """Keep the rows beside those that are there, of another process perhaps, and in place of older ones like them."""

    def like(row: Row) -> tuple[Any, ...]:
        family = str(row.get("quantities")).split(":")[0]
        return family, *(row.get(key) for key in _SAME)

    replaced = {like(row) for row in new}
    with directory.owned(_PATIENCE):
        rows = [*(row for row in directory.kept("inside") if like(row) not in replaced), *new]
        rows.sort(key=lambda row: row["epoch"])  # whoever was ready first
        directory.keep("inside", rows)
    return rows


def is_along(row: Mapping[str, Any]) -> bool:
    """Whether a row is one of a few quantities along training."""
    return str(row.get("quantities", "")).startswith("along:")


def rows_inside(record: "Record") -> list[Row]:
    """What was measured inside a run at single epochs."""
    return [row for row in record.measured("inside") if not is_along(row)]


def rows_noted_along(record: "Record") -> list[Row]:
    """What was measured along training, while it trained or afterwards."""
    later = [row for row in record.measured("inside") if is_along(row)]
    return [*(record.get("probes") or ()), *later]
