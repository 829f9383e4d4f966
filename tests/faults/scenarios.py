"""Four commands of a second: a fresh study, its recovery, measurements, a trial; and what they must leave behind."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from semfocus.cli.app import app
from semfocus.cli.errors import explains_errors
from semfocus.runs import result_digest
from semfocus.runs.record import _without_times
from semfocus.studies.execution import train_runs
from semfocus.trial import TrialSettings, run_trial
from tests.faults.planting import Counter, Fault, Outcome, in_child
from tests.trial.tiny import write

Points = list[tuple[str, str]]

RECIPE = """
from semfocus.measurements import Inside, Landscape, Lengths, Twins
from semfocus.studies import grid

MEASURE = {measure}


def specs():
    base = {{
        "task": "even_pairs",
        "model": {{"d_model": 4, "d_mlp": 4, "num_blocks": 1}},
        "training": {{"length": 4, "num_train": 8, "num_held_out": 8, "epochs": 2, "batch_size": 4}},
    }}
    return grid(base, pattern=["top_k(2)"], seed=[0])
"""
MEASURED = (
    "[Lengths((4, 6), num=8), Inside(epochs=('0', 'last'), samples=4), Twins(), "
    "Landscape(points=3, samples=8)]"
)
WORDS = ("study", "recipe.py", "--no-report", "--quiet", "--device", "cpu")
SETTINGS = TrialSettings(steps=4, batch_size=4, looks=4, warmup_steps=1, held_out=8)


def study(*how: str) -> int:
    """The command; without words about how, on the serial executor."""
    assert train_runs.__kwdefaults__ is not None
    before = train_runs.__kwdefaults__["checkpoint_seconds"]
    train_runs.__kwdefaults__["checkpoint_seconds"] = 0.0  # a checkpoint after every epoch
    try:
        app([*WORDS, *(how or ("--executor", "serial"))], standalone_mode=True)
    except SystemExit as ended:
        return int(ended.code or 0)
    finally:
        train_runs.__kwdefaults__["checkpoint_seconds"] = before
    return 0


@explains_errors
def _trial() -> None:
    options: dict[str, Any] = {"directory": "runs", "seeds": 1, "settings": SETTINGS, "executor": "serial"}
    run_trial("tiny.py", "data.csv", arms=[], device="cpu", checkpoint_seconds=0.0, **options)


def trial() -> int:
    try:
        _trial()
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def _fresh(folder: Path) -> None:
    (folder / "recipe.py").write_text(RECIPE.format(measure="[]"), encoding="utf-8")


def _recovery(folder: Path) -> None:
    """A driver was killed while the last checkpoint was written."""
    _fresh(folder)
    with inside(folder):
        points, _ = undisturbed(study, folder)
        at = next(number for number, (_, place) in enumerate(points) if "last-000002" in place) + 3
        shutil.rmtree("runs")
        assert in_child(study, Fault(at, "killed before")).code < 0


def _measured(folder: Path) -> None:
    _fresh(folder)
    with inside(folder):
        ended = in_child(study)
        assert ended.code == 0, ended.said
    (folder / "recipe.py").write_text(RECIPE.format(measure=MEASURED), encoding="utf-8")


def _for_trial(folder: Path) -> None:
    write(folder, num=60)


@dataclass(frozen=True)
class Scenario:
    name: str
    command: Callable[[], int]
    prepare: Callable[[Path], None]


SCENARIOS = {
    each.name: each
    for each in (
        Scenario("fresh study", study, _fresh),
        Scenario("recovery", study, _recovery),
        Scenario("measurements", study, _measured),
        Scenario("trial", trial, _for_trial),
    )
}


@contextmanager
def inside(folder: Path) -> Iterator[None]:
    here = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)


def undisturbed(command: Callable[[], int], folder: Path) -> tuple[Points, Outcome]:
    """The operations of a command in the present directory, and how it ends."""
    place = folder.parent / f"{folder.name}-points.json"
    ended = in_child(command, Counter(folder, place))
    assert ended.code == 0, ended.said
    found: Points = [(kind, where) for kind, where in json.loads(place.read_text(encoding="utf-8"))]
    return found, ended


def left_in(folder: Path) -> dict[str, str]:
    """Every file of the store with what must be the same in all of them; empty where only its name must."""
    store = folder / "runs"
    return {
        path.relative_to(store).as_posix(): _meaning(path)
        for path in sorted(store.rglob("*"))
        if path.is_file()
    }


def _meaning(path: Path) -> str:
    if path.name == "record.json":
        return result_digest(json.loads(path.read_bytes()))
    if path.suffix == ".safetensors":
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if path.name in ("evaluations.json", "probes.json", "twins.json", "spec.json"):
        return json.dumps(_without_times(json.loads(path.read_bytes())), sort_keys=True)
    if path.name == "values.jsonl":
        return "".join(sorted(path.read_text(encoding="utf-8").splitlines(keepends=True)))
    return ""
