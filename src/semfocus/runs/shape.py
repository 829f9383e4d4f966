"""Whether what a file holds can be the spec or the record of a run: JSON that reads well may still be another's."""

from collections.abc import Mapping
from types import NoneType
from typing import Any

_SPEC = {"task": str, "pattern": str, "seed": int, "model": dict, "training": dict}
_RECORD = {"run": str, "state": str, "spec": dict, "curve": dict}
_COUNTS = ("num_train", "num_held_out", "num_parameters", "held_out_overlap", "attempts")
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
#: what a summary may say, where it says anything
SUMMARY_NUMBERS = (
    *("target_accuracy", "epochs_to_target", "seconds_to_target", "epochs", "seconds", "best_epoch"),
    *("last_train_accuracy", "last_held_out_accuracy", "best_held_out_accuracy"),
    *("last_train_perplexity", "last_held_out_perplexity", "best_held_out_perplexity"),
)

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
_NUMBER_OR_NULL = (int, float, NoneType)
#: what each value may be that a reader uses; one that is not among the keys above may be absent
_KEPT: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "lengths": {
        **dict.fromkeys(("length", "num"), (int,)),
        **dict.fromkeys(("accuracy", "loss", "epoch"), _NUMBER_OR_NULL),
    },
    "twins": {
        **{"replaced": (int,), "rows": (list,), "learning_rates": (list, NoneType)},
        **dict.fromkeys(("num_train", "batch_size", "steps_per_epoch"), (int, NoneType)),
        **dict.fromkeys(("largest_loss", "largest_loss_ratio", "largest_gradient"), _NUMBER_OR_NULL),
        **dict.fromkeys(("largest_sample_gradient", "largest_gradient_ratio"), _NUMBER_OR_NULL),
    },
}
_TWIN_ROW: Mapping[str, tuple[type, ...]] = {
    "epoch": (int,),
    **dict.fromkeys(("distance", "relative_distance", "train_loss", "held_out_loss"), _NUMBER_OR_NULL),
}


def problem_of_spec(spec: dict[str, Any]) -> str | None:
    """What keeps it from being a spec: whether its values go together is checked by whoever makes a RunSpec of it."""
    from semfocus.runs.fields import problem_of_fields

    return (
        _problem(spec, _SPEC)
        or _problem(spec["training"], {"epochs": int}, "training.")
        or problem_of_fields(spec)
    )


def problem_of_record(record: dict[str, Any]) -> str | None:
    """What keeps it from being the record of a run that has ended."""
    problem = (
        _problem(record, _RECORD) or problem_of_spec(record["spec"]) or _problem_of_curve(record["curve"])
    )
    if problem is None:
        problem = _problem_of_summary(record.get("summary", {}), bool(record["curve"].get("epoch")))
    if problem is None:
        wrong = (name for name in _COUNTS if type(record.get(name)) not in (int, NoneType))
        problem = next((f"{name} is not a whole number" for name in wrong), None)
    if problem is None and not isinstance(record.get("reason"), str | NoneType):
        problem = "reason is not a text or null"
    if problem is None and not isinstance(record.get("environment"), dict | NoneType):
        problem = "environment is not a dict"
    if problem is None and not are_probe_rows(record.get("probes", [])):
        problem = "probes is not a list of probe rows"
    if problem is None and not _are_steps(record.get("steps", {})):
        problem = "steps is not a list of steps and one of accuracies, all of them numbers"
    return problem


def _problem_of_summary(summary: object, has_epochs: bool) -> str | None:
    if not isinstance(summary, dict):
        return "summary is not a dict"
    for name in SUMMARY_NUMBERS:
        if name in ("epochs", "best_epoch") and has_epochs and not isinstance(summary.get(name), int):
            return (
                f"summary.{name} is not a whole number" if name in summary else f"summary.{name} is missing"
            )
        if not {int, float, NoneType}.issuperset((type(summary.get(name)),)):
            return f"summary.{name} is not a number or null"
    return None


def _are_steps(steps: object) -> bool:
    if not isinstance(steps, dict):
        return False
    columns = [steps.get(name) for name in ("step", "train_accuracy")]
    if not steps:
        return True
    kinds = {type(each) for column in columns if isinstance(column, list) for each in column}
    lengths = {len(each) if isinstance(each, list) else None for each in columns}
    return len(lengths) == 1 and None not in lengths and kinds <= {int, float}


def kept_file(measurement: str) -> tuple[str, str]:
    """The file of a measurement in a run's directory, and under which key it has the rows."""
    return KEPT_FILES.get(measurement, (f"{measurement}.json", "rows"))


def are_rows(measurement: str, rows: object) -> bool:
    """Whether these can be the rows of a measurement."""
    if measurement == "inside":
        return are_probe_rows(rows)
    keys, kinds = _KEPT_KEYS.get(measurement, frozenset()), _KEPT.get(measurement, {})
    if not isinstance(rows, list) or not all(_has(row, kinds) and keys <= row.keys() for row in rows):
        return False
    return measurement != "twins" or all(map(_is_twin, rows))


def _has(row: object, kinds: Mapping[str, tuple[type, ...]]) -> bool:
    return isinstance(row, dict) and all(type(row.get(name)) in kind for name, kind in kinds.items())


def _is_twin(values: dict[str, Any]) -> bool:
    rates = values.get("learning_rates") or ()
    return {int, float}.issuperset(map(type, rates)) and all(_has(row, _TWIN_ROW) for row in values["rows"])


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
        if not {int, float}.issuperset(map(type, curve.get(name, [None]))):
            return f"curve.{name} is not a list of numbers"
    for name in OPTIONAL_NUMBERS:
        if not {int, float, NoneType}.issuperset(map(type, curve.get(name, []))):
            return f"curve.{name} is not a list of numbers and nulls"
    return None
