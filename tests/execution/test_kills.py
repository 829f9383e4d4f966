"""SIGKILL at any moment loses nothing and repeats nothing. Run with: pytest -m kill -s tests/studies"""

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from semfocus.runs import open_store, study_digest
from semfocus.studies import run_study
from tests.execution.minis import events_of, mini_study, start_study
from tests.studies.test_execution import own, recipe  # noqa: F401

pytestmark = [pytest.mark.kill, pytest.mark.slow]

KILLS = 32  # or more, until some run has ended and some driver has died while saving
STUDY = {"num_runs": 32, "epochs": 40}
LEFT = 6  # so many runs are left for the end, however fast the machine: two may be about to end


def children(pid: int) -> list[int]:
    """The processes that a process has started, as the system lists them."""
    try:
        words = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return []
    return [int(word) for word in words]


def saving(store: Path) -> list[Path]:
    """What is being written at this moment."""
    return [*store.glob("*/checkpoints/.*.partial"), *store.glob("*/.*.partial")]


def epochs_written(store: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in store.glob("*/journal.jsonl"))


def wait_for_moment(
    store: Path, process: "subprocess.Popen[str]", aimed: bool, moments: random.Random
) -> None:
    """Until some epochs were added; then a random moment, or the next one at which something is being saved."""
    before = epochs_written(store)
    while epochs_written(store) < before + 3 and process.poll() is None:
        time.sleep(0.01)
    if not aimed:
        time.sleep(moments.uniform(0, 0.3))
        return
    patient_until = time.monotonic() + 10
    while not saving(store) and time.monotonic() < patient_until:
        pass


def finished(store: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in store.glob("*/record.json")}


def test_a_study_killed_again_and_again_gives_the_same_digest(tmp_path: Path) -> None:
    specs = mini_study(**STUDY)
    whole = run_study(specs, tmp_path / "whole", executor="serial", checkpoint_seconds=1000)
    store, moments = tmp_path / "parts", random.Random(0)
    made = {("driver", False): 0, ("driver", True): 0, ("worker", False): 0, ("worker", True): 0}
    caught, known, process = 0, {}, None
    number = -1
    while len(known) < len(specs) - LEFT and not (number + 1 >= KILLS and caught and known):
        number += 1
        target, aimed = ("driver", "worker")[number % 2], number % 4 >= 2
        if process is None:
            process = start_study(store, STUDY, workers=2, checkpoint_seconds=0)
        wait_for_moment(store, process, aimed, moments)
        assert process.poll() is None, "the study ended before it could be killed"
        victims = [process.pid] if target == "driver" else children(process.pid)
        os.kill(moments.choice(victims), signal.SIGKILL)
        made[target, aimed] += 1
        if target == "driver":
            process.communicate()
            process = None
            time.sleep(0.2)  # the workers end with it
            caught += bool(saving(store))
        now = finished(store)
        assert {name: now.get(name) for name in known} == known, "a record was lost or changed"
        known = now
    if process is not None:
        process.kill()
        process.communicate()
    final = start_study(store, STUDY, workers=2)
    _, errors = final.communicate(timeout=600)
    assert final.returncode == 0, errors
    records = open_store(store).records()
    attempts = sum(events_of(open_store(store), spec)["attempt"] for spec in specs)
    print(
        f"\nkills (target, aimed at saving): {made}; {caught} drivers died while something was half written;"
    )
    print(f"{len(known)} records before the last command, {len(records)} after; {attempts} attempts in all")
    assert sorted(record["run"] for record in records) == sorted(spec.digest for spec in specs)
    assert {name: finished(store)[name] for name in known} == known
    assert study_digest(records) == study_digest(whole)
    assert min(made.values()) > 0, (
        "the machine is too fast for this study: there was no time for every kind of kill"
    )
    assert caught > 0, "no kill hit the moment of saving"
    assert 0 < len(known) < len(specs), "some records must have been there to be lost, and some still to come"
    assert saving(store) == [], "what was half written is still there"


def test_a_run_that_ends_its_worker_fails_after_three_attempts(tmp_path: Path, recipe: Path) -> None:  # noqa: F811
    specs = [own(recipe, "breaks(9)"), *mini_study(2)]
    store = open_store(tmp_path / "runs")
    records = run_study(specs, store, workers=1, recipe_file=recipe)
    assert [record["state"] for record in records] == ["failed", "done", "done"]
    assert records[0]["reason"] == "worker ended by signal 9"
    assert events_of(store, specs[0]) == {"attempt": 3, "failed": 3}
