"""The commands that make runs and figures again."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from semfocus.studies.setting import flat, unlike_the_paper

if TYPE_CHECKING:
    from semfocus.runs.plan import Plan

#: they have options of their own
_NOT_SET = ("task", "pattern", "seed")


def train_command(record: Mapping[str, Any]) -> str:
    """The run as `semfocus train`, from its own spec: what is the paper's setting is left out."""
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
    for key, value in unlike_the_paper(str(spec["task"]), flat(spec)).items():
        if key == "recipe":
            words += ["--recipe", "FILE.py"]
        elif key not in (*_NOT_SET, "data"):
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
