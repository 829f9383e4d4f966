"""Files that survive a crash whole: every operation on the files of runs, trials, plans and measurements is made here.

The primitives at the end of the file are the only ones that touch the disk. A test numbers them, makes any of
them fail, and notes what a disk was asked to do: see `intercept`.
"""

import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any, TypeVar

Made = TypeVar("Made")
#: a primitive, its path, what does it, the arguments of that
Interceptor = Callable[[str, Path, Callable[..., Any], tuple[Any, ...]], Any]

_PARTIAL = ".partial"
_interceptor: Interceptor | None = None


def _always() -> None:
    """Nobody else may have taken over what is written to."""


def write_durably(path: Path, content: bytes, check: Callable[[], None] = _always) -> None:
    """Write beside the target, force to disk, then take its place in one step.

    Processes of two machines may have one number: the name of the temporary file is drawn as well. `check` is called
    at the last moment; what it raises leaves everything as it was.
    A device or a pipe, such as /dev/stdout, is written to: taking its place would destroy it.
    """
    if _is_stream(path):
        _write_to_stream(path, content)
        return
    temporary, file = _own_partial(path)
    try:
        with file:
            write_whole(file, content)
            check()
            replace(temporary, path)  # while it is locked: whoever clears up leaves it alone
    except BaseException as error:
        with suppress(OSError):
            unlink(temporary)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)  # whoever reads the message knows this one
        raise
    sync_directory(path.parent)


def _is_stream(path: Path) -> bool:
    with suppress(OSError):
        mode = path.stat().st_mode
        return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
    return False


def _write_to_stream(path: Path, content: bytes) -> None:
    with open_file(
        path, os.O_WRONLY | os.O_NONBLOCK
    ) as file:  # a pipe that nobody reads is an error, no wait
        os.set_blocking(file.fileno(), True)
        _write_all(file, content)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text as durably, its folders too where they are missing; the path, for whoever tells of it."""
    target = Path(path)
    make_directory(target.parent)
    write_durably(target, text.encode())
    return target


def append_durably(path: Path, content: bytes, complete: Callable[[int, int], int]) -> int:
    """Add to the end and force to disk; first cut what `complete(descriptor, size)` says is not whole.

    The size, if nobody else adds to it.
    """
    is_new = not path.exists()
    with open_file(path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as file:
        size = os.fstat(file.fileno()).st_size
        whole = complete(file.fileno(), size)
        if whole < size:
            truncate(file, whole)
        write_whole(file, content)
    if is_new:
        sync_directory(path.parent)
    return whole + len(content)


def write_whole(file: FileIO, content: bytes) -> None:
    """Write all of it, however little the disk takes at a time, and force it to disk."""
    _write_all(file, content)
    sync(file)


def _write_all(file: FileIO, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[write(file, left) :]


def _own_partial(path: Path) -> tuple[Path, FileIO]:
    """A new temporary file, locked for as long as it is open."""
    while True:
        name = f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}{_PARTIAL}"
        temporary = path.with_name(name)
        file = open_file(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with suppress(OSError):  # a file system without locks: `remove_partials` clears nothing there
                lock(file, fcntl.LOCK_EX)
            if temporary.exists():  # else it was taken for a leftover before it was locked
                return temporary, file
        except BaseException:
            file.close()
            raise
        file.close()


def remove_partials(directory: Path) -> None:
    """Remove temporary files that belong to nobody: their writers were killed, or could not remove them."""
    for path in sorted(directory.glob(f".*{_PARTIAL}")):
        with suppress(OSError):
            if path.is_file() and not path.is_symlink():
                with open_file(path, os.O_RDWR) as file:
                    lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    unlink(path)


def try_writing(directory: Path) -> None:
    """OSError if files cannot be written in this directory, which is made where it is missing."""
    make_directory(directory)
    write_durably(directory / ".writable", b"")
    unlink(directory / ".writable")


def make_directory(path: Path) -> None:
    """A directory and those above it, which a loss of power does not take back."""
    missing = [each for each in (path, *path.parents) if not each.exists()]
    for each in reversed(missing):
        with suppress(FileExistsError):  # of another process
            _perform("mkdir", each, os.mkdir, each)
        sync_directory(each.parent)
    if not missing and not path.is_dir():
        raise FileExistsError(17, os.strerror(17), str(path))


def remove_tree(path: Path) -> None:
    """Remove a directory with all that is in it, in the order of names; links are removed, not followed."""
    if not path.is_symlink() and path.is_dir():
        for each in sorted(path.iterdir()):
            remove_tree(each)
        with suppress(FileNotFoundError):
            _perform("rmdir", path, os.rmdir, path)
    else:
        unlink(path)


@contextmanager
def locked_file(path: Path) -> Iterator[FileIO]:
    """A file that exists to be locked; the system lets go of it even if the process is killed."""
    with open_file(path, os.O_WRONLY | os.O_CREAT) as file:
        yield file


@contextmanager
def intercept(interceptor: Interceptor) -> Iterator[None]:
    """While the block runs, every primitive is made by this function, which may make it, or fail: for tests alone."""
    global _interceptor
    before, _interceptor = _interceptor, interceptor
    try:
        yield
    finally:
        _interceptor = before


def _perform(kind: str, path: Path, make: Callable[..., Made], *arguments: Any) -> Made:
    if _interceptor is None:
        return make(*arguments)
    found: Made = _interceptor(kind, path, make, arguments)
    return found


def _open(path: Path, flags: int) -> FileIO:
    mode = "rb" if flags & (os.O_RDWR | os.O_WRONLY) == 0 else "wb" if flags & os.O_WRONLY else "rb+"
    return FileIO(path, mode, opener=lambda name, _: os.open(name, flags | os.O_CLOEXEC, 0o666))


def open_file(path: Path, flags: int) -> FileIO:
    return _perform("open", path, _open, path, flags)


def write(file: FileIO, content: memoryview) -> int:
    """How many bytes were written: perhaps not all."""
    return _perform("write", Path(file.name), os.write, file.fileno(), content)


def truncate(file: FileIO, size: int) -> None:
    _perform("truncate", Path(file.name), os.ftruncate, file.fileno(), size)


def sync(file: FileIO) -> None:
    _perform("fsync", Path(file.name), os.fsync, file.fileno())


def lock(file: FileIO, how: int) -> None:
    """BlockingIOError if another process has it and `how` says not to wait."""
    try:
        _perform("lock", Path(file.name), fcntl.flock, file, how)
    except OSError as error:
        error.filename = str(file.name)  # of a file system without locks, which says no name
        raise


def replace(source: Path, target: Path) -> None:
    """Give a file or a directory its name, in one step."""
    _perform("rename", source, os.replace, source, target)


def unlink(path: Path) -> None:
    """Remove a file, if it is there."""
    with suppress(FileNotFoundError):
        _perform("unlink", path, os.unlink, path)


def read(path: Path) -> bytes:
    return _perform("read", path, Path.read_bytes, path)


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Force the names in a directory (creations, renames, removals) to disk."""
    _perform("fsync of a directory", directory, _sync_directory, directory)
