"""Runs with what was measured inside them, task by task: what every mechanism test looks at."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median
from typing import Any, Literal

from semfocus.analysis.statistics import Time
from semfocus.analysis.summaries import TaskSummary, by_setting
from semfocus.analysis.wording import setting_of
from semfocus.measurements.interior import rows_inside, rows_noted_along
from semfocus.words import count_of, shortened

Row = Mapping[str, Any]
#: epoch 0, the untrained model; the last epoch
When = Literal["start", "end"]
#: quantities that a test looks at; runs may hold many more
OVERALL = (
    *("dispersion", "dispersion_ratio", "separation", "separation_ratio", "key_load", "effective_keys"),
    *("focus_chance", "focus_mass", "mask_agreement_0.01", "lambda_w_local"),
    *("gradient_norm_query_key", "gradient_norm_value_out"),
)
BY_LAYER = (
    *("dispersion", "separation", "separation_ratio", "effective_keys", "focus_mass"),
    *("mask_agreement_0.01", "score_norm", "token_norm"),
)
HELD_OUT = "held_out"

_Place = tuple[str, int, str | None, int | None, int | None]


@dataclass(frozen=True)
class MeasuredRun:
    """One run: which it is, when it reached its target, how it ended, what was measured inside it on held-out data."""

    task: str
    label: str
    group: str
    seed: int
    spec: Mapping[str, Any]
    time: Time
    last_epoch: int
    is_done: bool
    last_train_accuracy: float | None
    last_held_out_accuracy: float | None
    rows: Mapping[_Place, Row] = field(repr=False)
    along: Sequence[Row] = field(repr=False)

    @property
    def pattern(self) -> str:
        return str(self.spec.get("pattern", "full"))

    @property
    def temperature(self) -> float:
        return float((self.spec.get("model") or {}).get("inverse_temperature", 1.0))

    @property
    def length(self) -> int:
        """The length of its sequences, the longest of a range."""
        own = (self.spec.get("training") or {}).get("length", 0)
        return int(max(own) if isinstance(own, list | tuple) else own)

    @cached_property
    def by_layer(self) -> dict[tuple[str, int, int], list[Row]]:
        """Under the run's own pattern: by quantity, epoch and layer, a row for each head."""
        return self.rows_by_layer(None)

    def rows_by_layer(self, pattern: str | None) -> dict[tuple[str, int, int], list[Row]]:
        """The same under another pattern on the run's scores."""
        found: dict[tuple[str, int, int], list[Row]] = {}
        for (quantity, epoch, other, layer, _), row in self.rows.items():
            if layer is not None and other == pattern:
                found.setdefault((quantity, epoch, layer), []).append(row)
        return found

    def row(
        self,
        quantity: str,
        when: When,
        pattern: str | None = None,
        layer: int | None = None,
        head: int | None = None,
    ) -> Row | None:
        """`pattern`: another one on this run's scores; `layer` and `head` None: all of them together.

        A run that diverged or has not ended has no end: its last epoch is not a trained model.
        """
        if when == "end" and not self.is_done:
            return None
        epoch = 0 if when == "start" else self.last_epoch
        return self.rows.get((quantity, epoch, pattern, layer, head))

    def value(
        self,
        quantity: str,
        when: When,
        at: str = "50",
        pattern: str | None = None,
        layer: int | None = None,
        head: int | None = None,
    ) -> float | None:
        """A quantile in percent, `mean` or `null`; None where it was not measured or does not exist."""
        found = self.row(quantity, when, pattern, layer, head)
        return None if found is None else number_of(found, at)


@dataclass(frozen=True)
class MeasuredTask:
    """One comparison with its measured runs."""

    summary: TaskSummary
    runs: list[MeasuredRun]

    @property
    def task(self) -> str:
        return self.summary.comparison.title

    def of(self, label: str) -> dict[int, MeasuredRun]:
        """The runs of an arm by their seeds."""
        return {run.seed: run for run in self.runs if run.label == label}

    def num_open(self, *labels: str) -> int:
        """How many runs of these arms have not ended, of all arms if none is named."""
        arms = [arm for arm in self.summary.arms if not labels or arm.label in labels]
        return self.summary.num_missing + sum(arm.num_open for arm in arms)

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(run.label for run in self.runs))


def measured_tasks(summaries: Iterable[TaskSummary]) -> list[MeasuredTask]:
    """The comparisons with measured runs, at the one setting that has the most such tasks, then runs.

    Settings are never pooled: what differs between tasks must not be what differs between settings.
    """
    groups = [
        [task for summary in group if (task := MeasuredTask(summary, list(_runs(summary)))).runs]
        for group in by_setting(list(summaries))
    ]
    return max(groups, key=lambda tasks: (len(tasks), sum(len(task.runs) for task in tasks)), default=[])


def _runs(summary: TaskSummary) -> Iterable[MeasuredRun]:
    for arm in summary.arms:
        for record in summary.comparison.arms[arm.label]:
            rows = [row for row in rows_inside(record) if _wanted(row)]
            along = [row for row in rows_noted_along(record) if _wanted(row)]
            curve = record.curve
            if (rows or along) and curve.get("epoch"):
                seed, done = record["spec"]["seed"], record.get("state") == "done"
                yield MeasuredRun(
                    summary.comparison.title,
                    arm.label,
                    arm.group,
                    seed,
                    record["spec"],
                    arm.times[seed],
                    curve["epoch"][-1],
                    done,
                    curve["train_accuracy"][-1] if done else None,
                    curve["held_out_accuracy"][-1] if done else None,
                    _indexed([*along, *rows]),
                    [row for row in along if row.get("data") == HELD_OUT],
                )


def _wanted(row: Row) -> bool:
    name, layer = row.get("quantity"), row.get("layer")
    return row.get("data") == HELD_OUT and (name in OVERALL if layer is None else name in BY_LAYER)


def _indexed(rows: Iterable[Row]) -> dict[_Place, Row]:
    """Held-out rows by what they say; of two the one of more sequences, of equal ones the later."""
    found: dict[_Place, Row] = {}
    for row in rows:
        if row.get("data") != HELD_OUT:
            continue
        other = row["pattern"] if row.get("counterfactual") else None
        place = (row["quantity"], row["epoch"], other, row.get("layer"), row.get("head"))
        if place not in found or row.get("samples", 0) >= found[place].get("samples", 0):
            found[place] = row
    return found


def number_of(row: Row, at: str) -> float | None:
    """One number of a row. JSON has no infinity: a separation that no number has is infinite where all of them were."""
    value = row.get(at) if at in ("mean", "null") else (row.get("quantiles") or {}).get(at)
    if value is None and row["quantity"] == "separation" and row.get("num_infinite") and not row.get("num"):
        return math.inf
    return float(value) if isinstance(value, int | float) else None


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that exist."""
    known = [value for value in values if value is not None]
    return median(known) if known else None


def not_tested(summaries: Sequence[TaskSummary]) -> list[str]:
    """`parity at other than the paper's: num_blocks 2 (4 runs)`, one for each."""

    tested = [task.summary for task in measured_tasks(summaries)]
    found = []
    for summary in summaries:
        if not any(summary is each for each in tested):
            for task in measured_tasks([summary]):
                setting = shortened(setting_of(summary.comparison), 120)
                found.append(f"{shortened(task.task, 40)} at {setting} ({count_of(len(task.runs), 'run')})")
    return found


def not_tested_text(summaries: Sequence[TaskSummary]) -> str:
    """A sentence, or nothing."""
    found = not_tested(summaries)
    if not found:
        return ""
    return f"Left out, since more tasks or runs were measured at another setting: {'; '.join(found)}."
