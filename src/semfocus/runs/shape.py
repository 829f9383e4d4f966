"""Whether what a file holds can be the spec or the record of a run: JSON that reads well may still be another's."""

from collections.abc import Mapping
from typing import Any

_SPEC = {"task": str, "pattern": str, "seed": int, "model": dict, "training": dict}
_RECORD = {"run": str, "state": str, "spec": dict, "curve": dict}
_PROBE = {
    "quantity": str,
    "pattern": str,
    "counterfactual": bool,
    "epoch": int,
    "data": str,
    "samples": int,
    "quantiles": dict,
}
#: columns that every curve has
REQUIRED_NUMBERS = (
    *("epoch", "train_accuracy", "held_out_accuracy", "train_loss", "held_out_loss"),
    *("train_seconds", "evaluation_seconds"),
)
#: columns of a curve that came after version 0.1.0: a run may lack them, and its digest leaves them out
OPTIONAL_NUMBERS = ("gradient_norm", "clipped_share")

#: where version 0.1.0 kept its measurements; others are in NAME.json
KEPT_FILES = {
    "lengths": ("evaluations.json", "rows"),
    "inside": ("probes.json", "rows"),
    "twins": ("twins.json", "twins"),
}
_KEPT_KEYS = {
    "lengths": frozenset({"length", "num", "accuracy"}),
    "twins": frozenset({"replaced", "rows"}),
}
#: what labels are made of; a field that is not written is at its default
_FACTORS = (
    ("model", "inverse_temperature"),
    ("model", "selection_noise"),
    ("model", "match_keeps_gradient"),
    ("model", "score_gradient"),
    ("model", "score_clip"),
    ("model", "initial_scale", "query_key"),
    ("training", "learning_rate_scale", "query_key"),
    ("training", "plain_after"),
    ("training", "plain_before"),
)
_TEXTS = (("model", "match_entropy"), ("model", "match_dispersion"), ("model", "selection"))
_MAY_BE_NONE = (
    *("score_clip", "match_entropy", "match_dispersion", "selection"),
    *("plain_after", "plain_before"),
)


def problem_of_spec(spec: dict[str, Any]) -> str | None:
    """What keeps it from being a spec; its values are checked by whoever makes a RunSpec of it."""
    problem = _problem(spec, _SPEC) or _problem(spec["training"], {"epochs": int}, "training.")
    return problem or next(filter(None, (_problem_at(spec, path) for path in (*_FACTORS, *_TEXTS))), None)


def _problem_at(spec: dict[str, Any], path: tuple[str, ...]) -> str | None:
    value: Any = spec
    for place, name in enumerate(path):
        if not isinstance(value, dict):
            return f"{'.'.join(path[:place])} is not dict"
        if name not in value:
            return None
        value = value[name]
    if value is None and path[-1] in _MAY_BE_NONE:
        return None
    kind, words = (str, "a text") if path in _TEXTS else (int | float, "a number")
    return None if isinstance(value, kind) else f"{'.'.join(path)} is not {words}"


def problem_of_record(record: dict[str, Any]) -> str | None:
    """What keeps it from being the record of a run that has ended."""
    problem = _problem(record, _RECORD)
    if problem is None:
        problem = problem_of_spec(record["spec"]) or _problem_of_curve(record["curve"])
    if problem is None and not isinstance(record.get("summary", {}), dict):
        problem = "summary is not a dict"
    if problem is None and not are_probe_rows(record.get("probes", [])):
        problem = "probes is not a list of probe rows"
    if problem is None and not _are_steps(record.get("steps", {})):
        problem = "steps is not a list of steps and one of accuracies"
    return problem


def _are_steps(steps: object) -> bool:
    if not isinstance(steps, dict):
        return False
    columns = [steps.get(name) for name in ("step", "train_accuracy")]
    lengths = {len(each) if isinstance(each, list) else None for each in columns}
    return not steps or (len(lengths) == 1 and None not in lengths)


def kept_file(measurement: str) -> tuple[str, str]:
    """The file of a measurement in a run's directory, and under which key it has the rows."""
    return KEPT_FILES.get(measurement, (f"{measurement}.json", "rows"))


def are_rows(measurement: str, rows: object) -> bool:
    """Whether these can be the rows of a measurement."""
    if measurement == "inside":
        return are_probe_rows(rows)
    needed = _KEPT_KEYS.get(measurement, frozenset())
    are_maps = isinstance(rows, list) and all(isinstance(row, dict) and needed <= row.keys() for row in rows)
    return are_maps and (measurement != "twins" or all(map(_is_twin, rows)))  # type: ignore[call-overload]


def _is_twin(values: dict[str, Any]) -> bool:
    rows = values["rows"]
    known = isinstance(values["replaced"], int) and isinstance(rows, list)
    return known and all(isinstance(row, dict) and "epoch" in row for row in rows)


def are_probe_rows(rows: object) -> bool:
    """Whether these can be rows of measurements: what every reader uses is there and of its kind."""
    return isinstance(rows, list) and all(
        isinstance(row, dict)
        and all(isinstance(row.get(key), kind) for key, kind in _PROBE.items())
        and all(row.get(key) is None or isinstance(row[key], int) for key in ("layer", "head"))
        for row in rows
    )


def _problem(values: dict[str, Any], kinds: Mapping[str, type], prefix: str = "") -> str | None:
    for key, kind in kinds.items():
        if not isinstance(values.get(key), kind):
            return f"{prefix}{key} is not {kind.__name__}" if key in values else f"{prefix}{key} is missing"
    return None


def _problem_of_curve(curve: dict[str, Any]) -> str | None:
    """Lists of one length, and in those that every reader uses, numbers; a run may end before its first epoch."""
    if not curve:
        return None
    if not all(isinstance(column, list) for column in curve.values()):
        return "curve has a column that is no list"
    if len({len(column) for column in curve.values()}) > 1:
        return "curve has columns of different lengths"
    for name in REQUIRED_NUMBERS:
        if not all(isinstance(value, int | float) for value in curve.get(name, [None])):
            return f"curve.{name} is not a list of numbers"
    for name in OPTIONAL_NUMBERS:
        if not all(value is None or isinstance(value, int | float) for value in curve.get(name, [])):
            return f"curve.{name} is not a list of numbers and nulls"
    return None
