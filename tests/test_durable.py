import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semfocus.durable import (
    intercept,
    remove_partials,
    remove_tree,
    sync_directory,
    write_durably,
    write_text,
)

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="this system does not list the open files of a process"
)


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize("content", [b"", b"text\n", bytes(range(256)) * 5000])
def test_content_is_written_and_nothing_else_stays(tmp_path: Path, content: bytes) -> None:
    write_durably(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == content
    assert names_in(tmp_path) == ["file"]


def test_old_content_is_replaced_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"a long old content")
    write_durably(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError("disk full"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_content_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: BaseException
) -> None:
    (tmp_path / "file").write_bytes(b"old")

    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(type(failure)):
        write_durably(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names_in(tmp_path) == ["file"]


@needs_proc
def test_content_reaches_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut cannot be had in a test; the order of the calls that guard against it can."""
    calls: list[tuple[str, str]] = []
    fsync, replace = os.fsync, os.replace

    def logged_fsync(descriptor: int) -> None:
        path = Path(os.readlink(f"/proc/self/fd/{descriptor}"))
        calls.append(("fsync", "directory" if path.is_dir() else path.read_bytes().decode()))
        fsync(descriptor)

    def logged_replace(source: Path, target: Path) -> None:
        calls.append(("replace", target.name))
        assert source.parent == target.parent, "renaming is atomic only within one file system"
        replace(source, target)

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(os, "replace", logged_replace)
    write_durably(tmp_path / "file", b"new")
    assert calls == [("fsync", "new"), ("replace", "file"), ("fsync", "directory")]


@needs_proc
def test_syncing_a_directory_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    sync_directory(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_durably(tmp_path / "nowhere" / "file", b"new")


@pytest.mark.kill
def test_a_killed_writer_leaves_the_old_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"old")
    script = """
import os, pathlib, signal, sys
from semfocus.durable import write_durably, write_text
os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
write_durably(pathlib.Path(sys.argv[1]), b"new" * 100_000)
"""
    run = subprocess.run([sys.executable, "-c", script, str(tmp_path / "file")], check=False)
    assert run.returncode == -signal.SIGKILL
    assert (tmp_path / "file").read_bytes() == b"old"


def test_a_text_makes_its_folders_and_says_where_it_is(tmp_path: Path) -> None:
    written = write_text(str(tmp_path / "a" / "b" / "page.html"), "δ")
    assert written == tmp_path / "a" / "b" / "page.html"
    assert written.read_bytes() == "δ".encode()


def test_files_half_written_by_nobody_are_removed_and_those_of_a_writer_stay(tmp_path: Path) -> None:
    killed = tmp_path / ".file.12-ab.partial"
    killed.write_bytes(b"half")
    during: list[list[str]] = []

    def look(kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if kind == "fsync":
            remove_partials(tmp_path)
            during.append(names_in(tmp_path))
        return make(*arguments)

    with intercept(look):
        write_durably(tmp_path / "file", b"new")
    assert [len(each) for each in during] == [1]
    assert not killed.exists()
    assert names_in(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_temporary_file_taken_for_a_leftover_is_made_again(tmp_path: Path) -> None:
    """Between its creation and its lock it belongs to nobody."""
    opened: list[Path] = []

    def clear(kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if kind == "lock" and not opened:
            opened.append(path)
            path.unlink()
        return make(*arguments)

    with intercept(clear):
        write_durably(tmp_path / "file", b"new")
    assert opened
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_disk_that_takes_little_at_a_time_gets_all(tmp_path: Path) -> None:
    def little(kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if kind == "write":
            descriptor, content = arguments
            return make(descriptor, content[:1000])
        return make(*arguments)

    with intercept(little):
        write_durably(tmp_path / "file", bytes(range(256)) * 50)
    assert (tmp_path / "file").read_bytes() == bytes(range(256)) * 50


def test_a_tree_is_removed_without_following_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (tmp_path / "tree" / "below").mkdir(parents=True)
    (tmp_path / "tree" / "below" / "file").touch()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "elsewhere")
    remove_tree(tmp_path / "tree")
    remove_tree(tmp_path / "tree")
    assert names_in(tmp_path) == ["elsewhere"]
    assert names_in(tmp_path / "elsewhere") == ["file"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_durably(pipe, b"content")
        assert os.read(reader, 100) == b"content"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    with pytest.raises(OSError, match="No such device"):  # nobody reads: no wait
        write_durably(pipe, b"more")


def test_output_to_a_device_leaves_the_device() -> None:
    assert Path(os.devnull).is_char_device()
    assert os.path.samefile(write_text(os.devnull, "a page"), os.devnull)
    assert Path(os.devnull).is_char_device()
