"""Files that survive a crash whole: either the old content or the new one, never a mixture."""

import os
import secrets
from contextlib import suppress
from pathlib import Path


def write_durably(path: Path, content: bytes) -> None:
    """Write beside the target, force to disk, then take its place in one step.

    Processes of two machines may have one number: the name of the temporary file is drawn as well.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.partial")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = str(path)  # whoever reads the message knows this one
        raise
    sync_directory(path.parent)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write a text as durably, its folders too where they are missing; the path, for whoever tells of it."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_durably(target, text.encode())
    return target


def sync_directory(directory: Path) -> None:
    """Force the names in a directory (creations, renames, removals) to disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
