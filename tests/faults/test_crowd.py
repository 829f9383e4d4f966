"""A sample of the crowd of `make torture`: many processes on one store, some of them killed."""

import os
from pathlib import Path

import pytest

from semfocus.runs import RunDirectory
from tests.faults.crowd import HOT, KILLED, PROCESSES, a_round

pytestmark = pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/fd").exists(), reason="needs /proc as Linux has it"
)


def test_a_crowd_writes_every_record_once(tmp_path: Path) -> None:
    row = a_round(0, 5, tmp_path)
    assert row["problems"] == []
    num = HOT + 5 * PROCESSES
    assert num - len(KILLED) <= row["wrote"] <= num  # who is killed after writing cannot say so
    assert row["attempts"] >= num


def test_a_crowd_without_locks_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process believes that it owns every run, and does not look whether it lost it."""
    monkeypatch.setattr("semfocus.runs.directory.lock", lambda file, how: None)
    monkeypatch.setattr(RunDirectory, "check_owner", lambda self: None)
    assert a_round(0, 5, tmp_path)["problems"]
