"""Records from the frames of an export: what was written, with its types; what was not is absent."""

import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from types import NoneType
from typing import TYPE_CHECKING, Any

from semfocus.measurements.measurement import exported_kinds
from semfocus.report.export.frames import NAMES, OWN
from semfocus.runs.arms import put
from semfocus.runs.fields import Path, kinds_of
from semfocus.runs.record import Record
from semfocus.runs.shape import OPTIONAL_NUMBERS, REQUIRED_NUMBERS, problem_of_record

if TYPE_CHECKING:
    import polars

Row = dict[str, Any]
#: columns that are no numbers of the run itself
_OF_EVERY_RUN = ("run", "state", "reason", "arm", "group")


@dataclass
class Exported:
    """What tables hold, by run: its own values with the curve, and the rows of every measurement."""

    runs: dict[str, Row] = field(default_factory=dict)
    measured: dict[str, dict[str, list[Row]]] = field(default_factory=lambda: defaultdict(dict))

    def records(self) -> list[Record]:
        """Measurements of a run that no table of runs has belong to nothing that is known."""
        found = []
        for name, values in self.runs.items():
            problem = problem_of_record(values) if values["spec"] else None
            if problem is not None:
                reason = f"the exported record is damaged: {problem}"
                found.append(Record({"run": name, "spec": {}, "state": "corrupt", "reason": reason}))
                continue
            measured = dict(self.measured.get(name, {}))
            along = measured.pop("probes", None)
            values = values if along is None else {**values, "probes": along}
            found.append(Record(values, measurements=measured))
        return found


def exported(frames: Mapping[str, "polars.DataFrame"]) -> Exported:
    """The content of one folder."""
    found = Exported()
    curves = _by_run(frames.get("curves"))
    for row in frames["runs"].iter_rows(named=True):
        values = _run(row)
        values["curve"] = _curve(curves.get(row["run"]), values["summary"])
        found.runs[row["run"]] = values
    for table, kind in exported_kinds().items():
        for run, frame in _by_run(frames.get(table)).items():
            known = kind.from_table(_rows(frame))
            found.measured[run] |= {name: rows for name, rows in known.items() if rows}
    for table in (each for each in frames if each.startswith(OWN)):
        for run, frame in _by_run(frames[table]).items():
            found.measured[run][table.removeprefix(OWN)] = [_own_row(row) for row in _rows(frame)]
    return found


def merged(parts: Iterable[Exported]) -> Exported:
    """Each run once: the record that says most, and of every measurement the most rows."""
    found = Exported()
    for part in parts:
        for run, values in part.runs.items():
            known = found.runs.get(run)
            if known is None or _completeness(values) > _completeness(known):
                found.runs[run] = values
        for run, measured in part.measured.items():
            for name, rows in measured.items():
                if len(rows) > len(found.measured[run].get(name, ())):
                    found.measured[run][name] = rows
    return found


def _completeness(values: Row) -> tuple[bool, int, int, int]:
    """Large for a record that ended, has many epochs, knows what was clipped, and many columns besides."""
    curve = values["curve"]
    known = [name for name, column in curve.items() if column and not _is_unknown(column[-1])]
    newer = sum(name in known for name in OPTIONAL_NUMBERS)
    return values["state"] in ("done", "diverged"), len(curve.get("epoch", ())), newer, len(known)


def _is_unknown(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _by_run(frame: "polars.DataFrame | None") -> "dict[str, polars.DataFrame]":
    if frame is None or frame.is_empty():
        return {}
    parts = frame.partition_by("run", as_dict=True, maintain_order=True)
    return {str(key[0]): part for key, part in parts.items()}


def _rows(frame: "polars.DataFrame") -> list[Row]:
    """Without the names of the run; a value that is null for this run is not there, or was none."""
    rows = frame.drop(NAMES, strict=False).to_dicts()
    texts = [name for name, kind in frame.schema.items() if kind.to_python() is str and name not in NAMES]
    return [row | {name: _parsed(row[name]) for name in texts} for row in rows]


def _run(row: Mapping[str, Any]) -> Row:
    others: Row = {"summary": {}}
    for key, value in row.items():
        if key.startswith("summary."):
            put(others, key.split("."), value)
        elif value is not None and key not in _OF_EVERY_RUN and not key.startswith("spec."):
            put(others, key.split("."), _parsed(value))
    facts = {"run": row["run"], "state": row["state"], "reason": row.get("reason")}
    return {**facts, "spec": _spec(row), **others}


def _parsed(value: Any, always: bool = False) -> Any:
    """Lists are written as JSON."""
    if isinstance(value, str) and (always or value[:1] in ("[", "{")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _spec(row: Mapping[str, Any]) -> Row:
    """With the type of each field. A column that is null is a field at None, or one that this run does not use."""
    spec: Row = {}
    if row.get("spec.task") is None:  # the run's files could not be read
        return spec
    columns = {tuple(key.split(".")[1:]): row[key] for key in row if key.startswith("spec.")}
    for path, value in columns.items():
        if value is not None:
            put(spec, path, _restored(value, kinds_of(path)[0]))
    for path, value in columns.items():
        kinds, later = kinds_of(path)
        if value is None and NoneType in kinds and (later is None or (later != path and _has(spec, later))):
            put(spec, path, None)
    return spec


def _restored(value: Any, kinds: Collection[type]) -> Any:
    if isinstance(value, str) and str not in kinds:  # a column of mixed types is text
        value = _parsed(value, always=bool(kinds))
    if isinstance(value, float) and value.is_integer() and int in kinds and float not in kinds:
        return int(value)
    if isinstance(value, int) and float in kinds and not {int, bool} & set(kinds):
        return float(value)
    return value


def _has(values: Any, path: Path) -> bool:
    for name in path:
        if not isinstance(values, dict) or name not in values:
            return False
        values = values[name]
    return True


def _curve(frame: "polars.DataFrame | None", summary: Row) -> dict[str, list[Any]]:
    """The columns that have values. What a smaller export left out is not a number; its seconds are spread evenly."""
    if frame is None:
        return {}
    plain = frame.drop(NAMES, strict=False).sort("epoch")
    curve = {column.name: column.to_list() for column in plain if column.null_count() < plain.height}
    epochs = curve["epoch"]
    for name in REQUIRED_NUMBERS:
        curve.setdefault(name, [math.nan] * len(epochs))
    if "train_seconds" not in plain.columns and summary.get("seconds") is not None:
        each = summary["seconds"] / max(1, epochs[-1])
        curve["train_seconds"] = [each if epoch else 0.0 for epoch in epochs]
    return curve


def _own_row(row: Row) -> Row:
    """Of a measurement that is not one of ours: what the run has no value for is left out."""
    return {key.removeprefix("own."): value for key, value in row.items() if value is not None}
