import os
from pathlib import Path

import pytest

from semfocus.runs import RunDirectory
from semfocus.runs.progress import being_worked_on


@pytest.fixture
def directories(tmp_path: Path) -> list[RunDirectory]:
    found = [RunDirectory(tmp_path / name) for name in ("a", "b", "c")]
    for directory in found:
        directory.create({})
    return found


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="this system does not list its locks")
def test_a_held_lock_is_seen_without_taking_it(directories: list[RunDirectory]) -> None:
    with directories[1].owned():
        pass
    with directories[0].owned():
        assert being_worked_on(directories) == {"a"}
    assert being_worked_on(directories) == set()


def test_lines_of_the_systems_list_are_matched_by_kind_inode_and_device(
    directories: list[RunDirectory], tmp_path: Path
) -> None:
    (directories[0].path / "lock").touch()
    lock = (directories[0].path / "lock").stat()
    major, minor = os.major(lock.st_dev), os.minor(lock.st_dev)
    locks = tmp_path / "locks"

    def seen(kind: str, device: str) -> set[str]:
        locks.write_text(f"1: {kind}  ADVISORY  WRITE 7 {device}:{lock.st_ino} 0 EOF\n2: -> {kind}\n")
        return being_worked_on(directories, locks)

    assert seen("FLOCK", f"{major:02x}:{minor:02x}") == {"a"}
    assert seen("POSIX", f"{major:02x}:{minor:02x}") == set()
    assert seen("FLOCK", "00:2b") == {"a"}, "a file system with its own device number"
    if major:
        assert seen("FLOCK", f"{major + 1:02x}:{minor:02x}") == set()


def test_without_such_a_list_the_age_of_the_journal_decides(
    directories: list[RunDirectory], tmp_path: Path
) -> None:
    for directory in directories[:2]:
        directory.note("attempt")
    os.utime(directories[1].path / "journal.jsonl", (0, 0))
    assert being_worked_on(directories, tmp_path / "nothing") == {"a"}
