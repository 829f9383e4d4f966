"""On Ray as in the pool: the same digest, also when a worker is killed. Run with: pytest -m ray tests/studies"""

import os
import signal
from pathlib import Path

import pytest

from semfocus.runs import RunBusy, open_store, study_digest
from semfocus.studies import Watcher, run_study
from tests.execution.minis import events_of, mini_study
from tests.execution.test_kills import children
from tests.studies.test_execution import own, recipe  # noqa: F401

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture(autouse=True, scope="module")
def _needs_ray() -> None:
    pytest.importorskip("ray", reason="Ray is not installed")


def test_executors_and_numbers_of_workers_give_one_digest(tmp_path: Path) -> None:
    specs = mini_study(6)
    digests = {
        (executor, workers): study_digest(
            run_study(specs, tmp_path / f"{executor}-{workers}", executor=executor, workers=workers)
        )
        for executor in ("serial", "pool", "ray")
        for workers in ((1, 2, 4) if executor != "serial" else (1,))
    }
    print(digests)
    assert len(set(digests.values())) == 1


def descendants(pid: int) -> list[int]:
    found = children(pid)
    return found + [each for child in found for each in descendants(child)]


def ray_workers() -> list[int]:
    """Processes of our own cluster that hold an actor of ours."""
    names = {pid: Path(f"/proc/{pid}/cmdline") for pid in descendants(os.getpid())}
    return [pid for pid, path in names.items() if path.exists() and b"ray::RayWorker" in path.read_bytes()]


def test_a_killed_worker_is_replaced_and_its_run_continued(tmp_path: Path) -> None:
    specs = mini_study(2, epochs=60)
    whole = run_study(specs, tmp_path / "whole", executor="serial")

    class KillOnce(Watcher):
        killed: list[int] = []  # noqa: RUF012
        failures: list[str] = []  # noqa: RUF012

        def epoch_ended(self, spec, row) -> None:
            if row["epoch"] >= 20 and not self.killed:
                self.killed.append(ray_workers()[0])
                os.kill(self.killed[0], signal.SIGKILL)

        def run_failed(self, spec, attempt, reason) -> None:
            self.failures.append(reason)

    store, watcher = open_store(tmp_path / "parts"), KillOnce()
    records = run_study(specs, store, executor="ray", workers=1, checkpoint_seconds=0, watcher=watcher)
    assert len(watcher.failures) == 1
    assert "Ray worker ended" in watcher.failures[0]
    assert study_digest(records) == study_digest(whole)
    first = store.directory(specs[0]).events()
    (resumed,) = [event["resumed_after"] for event in first if event["event"] == "attempt"][1:]
    assert resumed >= 10, "the second attempt continues from a checkpoint"


class Unreadable:
    """Can be sent, and not read."""

    def __init__(self, *arguments: object) -> None:
        pass

    def __reduce__(self) -> tuple:
        return int, ("no number",)


def test_a_job_that_cannot_be_read_there_fails_instead_of_hanging(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("semfocus.execution.executors.ray.RemoteJob", Unreadable)
    (record,) = run_study(mini_study(2)[:1], tmp_path, executor="ray", workers=1, attempts=2)
    assert record["state"] == "failed"
    assert "no number" in record["reason"]


def test_the_driver_holds_the_run_and_the_recipe_travels(tmp_path: Path, recipe: Path) -> None:  # noqa: F811
    specs = [own(recipe, "every_other(2)"), own(recipe, "breaks(1)")]
    store, held = open_store(tmp_path / "runs"), []

    class TryTheLock(Watcher):
        def epoch_ended(self, spec, row) -> None:
            if spec.digest == specs[0].digest and not held:
                with pytest.raises(RunBusy), store.directory(spec).owned():
                    pass
                held.append(True)

    records = run_study(
        specs, store, executor="ray", workers=1, recipe_file=recipe, watcher=TryTheLock(), attempts=2
    )
    assert held == [True]
    assert [(record["state"], record["reason"]) for record in records] == [
        ("done", None),
        ("failed", "broken pattern"),
    ]
    assert events_of(store, specs[1]) == {"attempt": 2, "failed": 2}
