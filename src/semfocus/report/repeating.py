"""The commands that make runs and figures again."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from semfocus.runs.plan import Plan
    from semfocus.studies.arms import Comparison


def train_command(comparison: "Comparison", record: Mapping[str, Any]) -> str:
    """One run of a comparison as `semfocus train`; what is the paper's setting is left out."""
    spec = record["spec"]
    words = [
        "semfocus",
        "train",
        str(spec["task"]),
        "--pattern",
        str(spec["pattern"]),
        "--seed",
        str(spec["seed"]),
    ]
    settings = dict(comparison.setting)
    temperature = spec.get("model", {}).get("inverse_temperature", 1.0)
    if temperature != 1:
        settings["model.inverse_temperature"] = temperature
    for key, value in settings.items():
        if key == "recipe":
            words += ["--recipe", "FILE.py"]
        elif key != "data":
            words += ["-s", f"{key}={_written(value)}"]
    return " ".join(word if word == "FILE.py" else shlex.quote(word) for word in words)


def _written(value: Any) -> str:
    """As `-s` reads it: JSON, and LOW:HIGH for a range of lengths."""
    if isinstance(value, list | tuple):
        return ":".join(map(str, value))
    return (
        {True: "true", False: "false", None: "null"}.get(value, str(value))
        if not isinstance(value, float | int) or isinstance(value, bool)
        else repr(value)
    )


def study_commands(plans: Iterable["Plan"], runs: Sequence[str]) -> list[str]:
    """The commands of the studies that planned any of these runs, each once."""
    wanted = set(runs)
    return list(dict.fromkeys(plan.command for plan in plans if wanted & set(plan.runs)))
