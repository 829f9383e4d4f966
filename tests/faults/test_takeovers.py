"""A process that was stopped for long: it keeps its run where locks hold, and else does not write any more."""

import contextlib
import errno
import io
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semfocus.durable import intercept
from semfocus.runs import RunBusy, RunDirectory
from tests.faults.matrix import Ready, ready
from tests.faults.planting import in_child
from tests.faults.takeovers import contents, sleeping, take_over
from tests.faults.victims import go_on, start_fork

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Ready:
    with contextlib.redirect_stdout(io.StringIO()):
        return ready("fresh study", tmp_path_factory.mktemp("takeovers") / "fresh")


def point(made: Ready, kind: str, part: str) -> int:
    """The last operation of this kind at such a place."""
    return max(at for at, (each, place) in enumerate(made.points) if each == kind and part in place)


def test_who_lost_a_run_does_not_write(fresh: Ready) -> None:
    row = take_over(fresh, point(fresh, "mkdir", "checkpoints/"))
    assert row["problems"] == []
    assert row["wrote"] == []


def test_what_was_to_be_written_at_that_very_moment_changes_no_result(fresh: Ready) -> None:
    row = take_over(fresh, point(fresh, "write", "journal.jsonl"))
    assert row["problems"] == []
    assert [Path(name).name for name in row["wrote"]] == ["journal.jsonl"]


def test_without_looking_at_the_journal_it_would_write(fresh: Ready, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RunDirectory, "check_owner", lambda self: None)
    assert len(take_over(fresh, point(fresh, "write", "journal.jsonl"))["wrote"]) > 1


def test_two_that_both_believe_to_own_a_run(fresh: Ready) -> None:
    row = take_over(
        fresh, point(fresh, "rename", "checkpoints/"), point(fresh, "write", "journal.jsonl") - 20
    )
    assert row["problems"] == []


def test_where_locks_hold_nobody_takes_over_from_a_stopped_process(fresh: Ready) -> None:
    with fresh.copy() as folder:
        number = point(fresh, "write", "journal.jsonl")
        first = sleeping(fresh.scenario.command, number, folder, "first", are_locks_lost=False)
        second = start_fork(fresh.scenario.command, folder, folder / "second.txt")
        before = contents(folder)
        time.sleep(1.5)  # it looks again after a quarter of a second, then a half
        assert not second.has_ended()
        assert {name for name, now in contents(folder).items() if before.get(name) != now} <= {".writable"}
        go_on(first.driver)
        assert first.wait(120)
        assert second.wait(120)
        assert (first.code, second.code) == (0, 0), first.words() + second.words()


def no_locks(kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    if kind == "lock":
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    return make(*arguments)


def test_a_file_system_without_locks_is_named(fresh: Ready) -> None:
    with fresh.copy():
        ended = in_child(fresh.scenario.command, no_locks)
    assert ended.code == 1
    assert ended.said.startswith(f"error: {os.strerror(errno.ENOLCK)} (")
    assert "/lock)" in ended.said
    assert ended.said.count("\n") == 1


def test_an_owner_who_failed_to_write_is_still_the_owner(tmp_path: Path) -> None:
    """Half a line is there then; somebody else's line is another matter."""
    directory = RunDirectory(tmp_path / "run")
    directory.create({})

    def half(kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if kind == "write":
            make(arguments[0], arguments[1][:5])
            raise OSError(errno.EIO, "half")
        return make(*arguments)

    with directory.owned():
        directory.note("first")
        with pytest.raises(OSError, match="half"), intercept(half):
            directory.note("second")
        directory.note("third")
        RunDirectory(directory.path).note("of another")
        for _ in range(2):
            with pytest.raises(RunBusy, match="was continued, or removed, by another process"):
                directory.note("fourth")
        with pytest.raises(RunBusy):
            directory.write_record({})
        assert not directory.has_ended
    assert [event["event"] for event in directory.events()] == ["first", "third", "of another"]
    with directory.owned():
        directory.note("fifth")
