"""A folder of runs: the directories are the truth, and there is no index to go stale."""

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from semfocus.durable import remove_partials, unlink
from semfocus.runs.directory import RunBusy, RunDirectory
from semfocus.runs.record import Record, read_record

if TYPE_CHECKING:
    from semfocus.runs.spec import RunSpec


class Store:
    """Runs under one path, each in a directory named by the digest of its spec."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def directory(self, spec: "RunSpec") -> RunDirectory:
        """Where the run of this spec lives, whether or not it exists yet."""
        return RunDirectory(self.path / spec.digest)

    def directories(self) -> list[RunDirectory]:
        """All runs, in the order of their names."""
        found = (RunDirectory(path) for path in sorted(self.path.glob("*"))) if self.path.is_dir() else ()
        return [directory for directory in found if directory.exists]

    def records(self) -> list[Record]:
        """A plain record for each run, finished or not."""
        return [read_record(directory) for directory in self.directories()]

    def remove_leftovers(self) -> None:
        """Remove what processes that were killed, or a bad disk, left of files half written."""
        for old in self.path.glob(".writable*"):  # of version 0.1
            unlink(old)
        for place in (self.path, self.path / "plans"):
            remove_partials(place)
        for directory in self.directories():
            if not directory.has_ended:  # its next owner does
                continue
            for place in (directory.path, *directory.landscapes.glob("*")):
                remove_partials(place)
            with suppress(RunBusy):
                if any(directory.checkpoints.glob(".*.partial")):
                    with directory.owned():
                        directory.remove_leftovers()

    def find(self, name: str) -> RunDirectory:
        """A run by its directory, its name, or an unambiguous beginning of its name."""
        as_path = RunDirectory(Path(name))
        if as_path.exists:
            return as_path
        matches = [directory for directory in self.directories() if name and directory.name.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        what = f"{len(matches)} runs begin with" if matches else "no run is called"
        raise ValueError(
            f"{what} {name!r} in {self.path} (a run is a directory, or the beginning of its name)"
        )


def open_store(path: str | os.PathLike[str] | None = None) -> Store:
    """The store at a path; by default SEMFOCUS_STORE, or `runs`. Nothing is created until a run is."""
    return Store(Path(path or os.environ.get("SEMFOCUS_STORE") or "runs"))
