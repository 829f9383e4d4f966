"""All numbers of records as frames: a row per run, per epoch, and the rows of every measurement."""

import json
import math
from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from semfocus.analysis.comparisons import Contrast
from semfocus.analysis.findings import finding_on
from semfocus.analysis.wording import setting_of
from semfocus.measurements.measurement import exported_kinds, own_tables
from semfocus.runs.arms import arm_of, flat
from semfocus.runs.record import Record

if TYPE_CHECKING:
    import polars

    from semfocus.analysis.summaries import ArmSummary, TaskSummary

#: of a record, what is not a number of the run itself
_ELSEWHERE = (
    "curve",
    "spec",
    "run",
    "state",
    "reason",
    "probes",
)


def summary_table(summaries: "Sequence[TaskSummary]") -> "polars.DataFrame":
    """One row per comparison and arm: how many runs got there, when, and the speedup over the baseline."""
    import polars

    texts, counts = ("task", "setting", "arm", "group", "verdict"), ("seeds", "reached")
    numbers = ("epochs", "ratio", "low", "high", "p", "last_held_out", "clipped_share")
    kinds = dict.fromkeys(texts, polars.String) | dict.fromkeys(counts, polars.Int64)
    schema: Any = kinds | dict.fromkeys(numbers, polars.Float64)
    rows = [_summary_row(summary, arm) for summary in summaries for arm in summary.arms]
    order = ("task", "setting", "arm", "group", *counts, "epochs", "ratio", "low", "high", "p", "verdict")
    return polars.DataFrame(rows, schema=schema).select(*order, "last_held_out", "clipped_share")


def _summary_row(summary: "TaskSummary", arm: "ArmSummary") -> dict[str, Any]:
    finding = finding_on(summary, Contrast(arm.label, summary.baseline))
    return {
        "task": summary.comparison.title,
        "setting": setting_of(summary.comparison),
        "arm": arm.label,
        "group": arm.group,
        "seeds": arm.total,
        "reached": arm.reached,
        "epochs": arm.epochs_to_target.value,
        "ratio": finding.ratio if finding else None,
        "low": finding.low if finding else None,
        "high": finding.high if finding else None,
        "p": finding.p if finding else None,
        "verdict": finding.verdict if finding else None,
        "last_held_out": median(arm.last_held_out) if arm.last_held_out else None,
        "clipped_share": median(arm.clipped.values()) if arm.clipped else None,
    }


def runs_table(records: Sequence[Mapping[str, Any]]) -> "polars.DataFrame":
    """One row per run: its identity, its spec, its summary and its environment, nested names joined by dots."""
    return _frame([_run_row(record) for record in records], ("run", "state", "reason", "arm", "group"))


def curves_table(records: Sequence[Mapping[str, Any]]) -> "polars.DataFrame":
    """One row per epoch of a run; `run` joins it to the table of runs."""
    rows = []
    for record in records:
        curve = record.get("curve") or {}
        for place in range(len(curve.get("epoch", []))):
            rows.append({**_named(record), **{key: values[place] for key, values in curve.items()}})
    return _frame(rows, (*NAMES, "epoch"))


def frames_of(records: Sequence[Record]) -> "dict[str, polars.DataFrame]":
    """All tables by the names of their files: runs, curves, and one for each measurement, with the rows of its `table`.

    Those of ours are there even if they are empty; one of your own is measurement-NAME, which is no other's name.
    """
    found = {"runs": runs_table(records), "curves": curves_table(records)}
    for name, kind in exported_kinds().items():
        rows = [(record, row) for record in records for row in kind.table(record)]
        found[name] = _measurement_frame(rows, kind.columns)
    own = {f"{OWN}{name}": _measurement_frame(rows) for name, rows in own_tables(records).items()}
    return found | own


def table_names() -> tuple[str, ...]:
    """Those that every export has."""
    return ("runs", "curves", *exported_kinds())


def _measurement_frame(
    rows: "Sequence[tuple[Record, Mapping[str, Any]]]", first: Sequence[str] = ()
) -> "polars.DataFrame":
    return _frame(
        [
            {**{f"own.{key}" if key in NAMES else key: value for key, value in row.items()}, **_named(record)}
            for record, row in rows
        ],
        (*NAMES, *first),
    )


#: before the name of a measurement of one's own, in the name of its file
OWN = "measurement-"

#: in every table but that of the runs, which run a row is of
NAMES = ("run", "task", "arm", "group", "seed")


def _named(record: Mapping[str, Any]) -> dict[str, Any]:
    spec = record.get("spec") or {}
    return {"run": record.get("run"), "task": spec.get("task"), **_arm(spec), "seed": spec.get("seed")}


def _run_row(record: Mapping[str, Any]) -> dict[str, Any]:
    spec = record.get("spec") or {}
    row = {key: record.get(key) for key in ("run", "state", "reason")} | _arm(spec)
    row |= {f"spec.{key}": value for key, value in flat(spec).items()}
    return row | flat({key: value for key, value in record.items() if key not in _ELSEWHERE})


def _arm(spec: Mapping[str, Any]) -> dict[str, Any]:
    if "task" not in spec:
        return {"arm": None, "group": None}
    arm = arm_of(spec)
    return {"arm": arm.label, "group": arm.group}


def _frame(rows: Sequence[Mapping[str, Any]], first: Sequence[str]) -> "polars.DataFrame":
    """Columns of one type each: numbers stay numbers, what is mixed becomes text, lists become JSON."""
    import polars

    names = list(dict.fromkeys([*first, *(key for row in rows for key in row)]))
    return polars.DataFrame({name: _column([row.get(name) for row in rows]) for name in names}, strict=False)


def _column(values: Sequence[Any]) -> "polars.Series":
    import polars

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int}:
        small = all(abs(value) < 2**63 for value in values if value is not None)
        return polars.Series(values, dtype=polars.Int64) if kinds and small else _texts(values)
    if kinds <= {int, float}:
        return polars.Series(
            [None if value is None else float(value) for value in values], dtype=polars.Float64
        )
    if kinds == {bool}:
        return polars.Series(values, dtype=polars.Boolean)
    return _texts(values)


def _texts(values: Sequence[Any]) -> "polars.Series":
    import polars

    return polars.Series([_text(value) for value in values], dtype=polars.String)


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair cannot be written
