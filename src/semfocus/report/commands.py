"""The commands that make runs and figures again."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from semfocus.runs.arms import flat, unlike_the_paper
from semfocus.runs.paper_settings import PAPER_SEEDS

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
        elif key not in (*_NOT_SET, "data", "pretraining.data"):
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


@dataclass(frozen=True)
class Rerun:
    """One command for what may have been asked for in several: the same study, seed after seed."""

    name: str
    question: str
    command: str
    runs: frozenset[str]


def reruns(plans: Iterable["Plan"]) -> list[Rerun]:
    """The studies behind some plans, each with a command for all of its seeds.

    Where the runs were kept is left out: that is a folder of whoever ran them.
    """
    found: dict[tuple[str, ...], list[tuple[Plan, list[int] | None]]] = {}
    for plan in plans:
        words, seeds = _split(plan.command)
        # without --seeds it is the recipe that knows them: such a command stands for itself
        key = (*words, "" if seeds is None else "--seeds")
        found.setdefault(key, []).append((plan, seeds))
    return [_rerun(list(key[:-1]), members) for key, members in found.items()]


def _rerun(words: list[str], members: "Sequence[tuple[Plan, list[int] | None]]") -> Rerun:
    last = members[-1][0]
    seeds = list(dict.fromkeys(seed for _, own in members for seed in own or ()))
    if seeds:
        words = [*words, "--seeds", _seeds_text(seeds)]
    runs = frozenset(run for plan, _ in members for run in plan.runs)
    command = shlex.join(words) if len(words) > 1 else last.command
    return Rerun(last.name, last.question, command, runs)


def _split(command: str) -> tuple[list[str], list[int] | None]:
    """The words of a command without its store and its seeds, and the seeds."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quote that is never closed: nothing that we wrote
        return [command], None
    kept: list[str] = []
    seeds = None
    rest = iter(words)
    for word in rest:
        option, _, value = word.partition("=")
        if option in ("--store", "--seeds"):
            value = value or next(rest, "")
            seeds = _read_seeds(value) if option == "--seeds" else seeds
        else:
            kept.append(word)
    return kept, seeds


def _read_seeds(text: str) -> list[int]:
    """As `semfocus study --seeds` reads them: a number of the paper's, or a list."""
    if text.strip().isdecimal():
        return list(PAPER_SEEDS[: int(text)])
    return [int(word) for word in re.split(r"[;,\s]+", text) if word.isdecimal()]


def _seeds_text(seeds: Sequence[int]) -> str:
    if set(seeds) == set(PAPER_SEEDS[: len(seeds)]):
        return str(len(seeds))
    return ",".join(map(str, seeds)) + ("," if len(seeds) == 1 else "")


def study_commands(plans: Iterable["Plan"], runs: Sequence[str], task: str | None = None) -> list[str]:
    """The commands of the studies that planned any of these runs, each once; with `task`, for that task alone."""
    wanted = set(runs)
    commands = [each.command for each in reruns(plans) if wanted & each.runs]
    return list(dict.fromkeys(_narrowed(command, task) for command in commands))


def _narrowed(command: str, task: str | None) -> str:
    if task is None or "--tasks" in command:
        return command
    return f"{command} --tasks {shlex.quote(task)}"


def report_command(records: Sequence[Mapping[str, Any]], plans: Sequence["Plan"]) -> str:
    """The command that writes this report: of one study, if all runs are of one."""
    names = {plan.name for plan in plans}
    planned = {run for plan in plans for run in plan.runs}
    if len(names) == 1 and all(record.get("run") in planned for record in records):
        return f"semfocus report --study {shlex.quote(names.pop())}"
    return "semfocus report"
