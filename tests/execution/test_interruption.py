"""Ctrl-C saves every run, and no worker outlives its driver."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from semfocus.execution.executors.pool import WorkerProcess
from semfocus.runs import RunBusy, RunSpec, Store, open_store
from semfocus.studies import Watcher, run_study
from tests.execution.minis import events_of, mini_study, start_study

#: seconds after which nothing will come any more, however busy the machine
PATIENCE = 300.0


def test_ctrl_c_saves_the_state_of_every_worker(tmp_path: Path) -> None:
    study = {"num_runs": 2, "epochs": 100_000}  # none ends before the other has begun, even on one core
    store, specs = open_store(tmp_path / "parts"), mini_study(**study)
    process = start_study(store.path, study, workers=2, checkpoint_seconds=1000)
    try:
        wait_until(lambda: all(events_of(store, spec)["epoch"] > 5 for spec in specs))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert "KeyboardInterrupt" in errors
    for spec in specs:
        assert events_of(store, spec)["interrupted"] == 1
        newest = max(store.directory(spec).checkpoints.glob("last-*"))
        # Ctrl-C may fall between the journal's line and the copy of the weights: then that epoch is trained again.
        lost = events_of(store, spec)["epoch"] - 1 - int(newest.name.split("-")[1])
        assert lost in (0, 1)


@pytest.mark.slow
def test_a_worker_saves_once_though_it_is_asked_by_the_system_and_by_its_driver(tmp_path: Path) -> None:
    """As when a machine is shut down: every process gets SIGTERM, and then the driver interrupts its workers."""
    study = {"num_runs": 2, "epochs": 100_000}
    store, specs = open_store(tmp_path / "parts"), mini_study(**study)
    process = start_study(store.path, study, workers=2, checkpoint_seconds=1000)
    try:
        wait_until(lambda: all(events_of(store, spec)["epoch"] > 5 for spec in specs))
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for worker in workers:
            os.kill(int(worker), signal.SIGTERM)
        for worker in workers:
            os.kill(int(worker), signal.SIGINT)
        wait_until(lambda: all(events_of(store, spec)["attempt"] == 2 for spec in specs))
    finally:
        process.kill()
    for spec in specs:
        attempts = [each for each in store.directory(spec).events() if each["event"] == "attempt"]
        assert events_of(store, spec)["interrupted"] == 1
        assert attempts[1]["resumed_after"] > 4


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[WorkerProcess] = []

    def deaf(worker: WorkerProcess) -> None:
        """The worker does not listen; while it is waited for, Ctrl-C comes again."""
        stopped.append(worker)
        signal.setitimer(signal.ITIMER_REAL, 0.3)

    monkeypatch.setattr(WorkerProcess, "interrupt", deaf)

    class FirstInterrupt(Watcher):
        def epoch_ended(self, spec, row) -> None:
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_study(mini_study(2, epochs=100_000), tmp_path, workers=1, watcher=FirstInterrupt())
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert [worker.process.returncode for worker in stopped] == [-signal.SIGKILL]


def test_workers_end_with_their_driver(tmp_path: Path) -> None:
    study = {"num_runs": 2, "epochs": 100_000}
    store, specs = open_store(tmp_path), mini_study(**study)
    process = start_study(store.path, study, workers=2)
    wait_until(lambda: all(events_of(store, spec)["epoch"] > 2 for spec in specs))
    process.kill()
    process.communicate()
    wait_until(lambda: all(is_free(store, spec) for spec in specs))


def is_free(store: Store, spec: RunSpec) -> bool:
    try:
        with store.directory(spec).owned():
            return True
    except RunBusy:
        return False


def test_an_orphaned_worker_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getpid", lambda: 2**22 + 1)
    worker = WorkerProcess(threads=1)
    monkeypatch.undo()
    worker.process.wait(PATIENCE)  # `end` itself has five seconds for it
    assert worker.end() == "worker ended with code 1: the driver has ended"


def wait_until(true: Callable[[], bool]) -> None:
    patient_until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < patient_until, "waited too long"
        time.sleep(0.02)
