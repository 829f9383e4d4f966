"""Loss of power: what a disk may show afterwards, of the operations that a command made.

What is assumed of the disk: a file or a directory that was forced (fsync) keeps what it had then; renaming within a
directory is one step. Nothing else. Of what was not forced any part may be there: each change of a directory or not, in
whatever order, and of the bytes written any sectors of 512, the others zero or as before, with any length in between.
"""

import contextlib
import hashlib
import io
import itertools
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from semfocus.durable import intercept
from semfocus.runs import open_store
from semfocus.runs.directory import DamagedRun
from semfocus.runs.trial_directory import TrialRunDirectory
from tests.faults.kept import Effort, Kept, Part, Row
from tests.faults.matrix import Ready, in_memory, ready
from tests.faults.planting import in_child
from tests.faults.scenarios import SCENARIOS, left_in

SECTOR = 512
Tree = dict[str, bytes | None]  # None: a directory


@dataclass
class File:
    """What was forced to disk, and what was written since: (offset, bytes), or a length to cut at."""

    forced: bytes = b""
    size: int = 0  # as the program sees it
    pending: list[tuple[int, bytes] | int] = field(default_factory=list)


@dataclass
class Folder:
    forced: "dict[str, File | Folder]" = field(default_factory=dict)
    seen: "dict[str, File | Folder]" = field(default_factory=dict)  # by the program
    pending: "list[dict[str, File | Folder | None]]" = field(default_factory=list)

    def note(self, changes: "dict[str, File | Folder | None]") -> None:
        self.pending.append(changes)
        for name, each in changes.items():
            if each is None:
                self.seen.pop(name, None)
            else:
                self.seen[name] = each


class Disk:
    """Hears of every operation below a folder, and keeps what is forced apart from what is not."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.top = _forced_tree(root)
        #: a copy after each operation, with its kind
        self.moments: list[tuple[str, Folder]] = []

    def __call__(self, kind: str, path: Path, make: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        path = Path(os.path.abspath(path))
        if kind == "write":
            content = bytes(arguments[1])
        found = make(*arguments)
        if kind in ("read", "lock"):
            return found
        place = self._find(path.parent) if path != self.root else self.top
        name = path.name
        if kind == "open":
            if name not in place.seen:
                place.note({name: File()})
        elif kind == "mkdir":
            place.note({name: Folder()})
        elif kind in ("unlink", "rmdir"):
            place.note({name: None})
        elif kind == "rename":
            target = Path(arguments[1]).name
            place.note({name: None, target: place.seen[name]})
        elif kind == "fsync of a directory":
            folder = self._find(path)
            for changes in folder.pending:
                _apply(folder.forced, changes)
            folder.pending = []
        else:
            file = place.seen[name]
            assert isinstance(file, File)
            if kind == "write":
                file.pending.append((file.size, content[:found]))
                file.size += found
            elif kind == "truncate":
                file.pending.append(arguments[1])
                file.size = arguments[1]
            elif kind == "fsync":
                for each in file.pending:
                    file.forced = _written(file.forced, each)
                file.pending = []
            else:
                raise AssertionError(kind)
        self.moments.append((f"{kind} {path.relative_to(self.root)}", deepcopy(self.top)))
        return found

    def _find(self, path: Path) -> Folder:
        here = self.top
        for name in path.relative_to(self.root).parts:
            below = here.seen[name]
            assert isinstance(below, Folder)
            here = below
        return here


def _forced_tree(path: Path) -> Folder:
    found: dict[str, File | Folder] = {
        each.name: _forced_tree(each) if each.is_dir() else File(each.read_bytes(), each.stat().st_size)
        for each in sorted(path.iterdir())
    }
    return Folder(dict(found), dict(found))


def _apply(entries: "dict[str, File | Folder]", changes: "dict[str, File | Folder | None]") -> None:
    for name, each in changes.items():
        if each is None:
            entries.pop(name, None)
        else:
            entries[name] = each


def _written(content: bytes, change: tuple[int, bytes] | int) -> bytes:
    if isinstance(change, int):
        return content[:change].ljust(change, b"\0")
    offset, more = change
    content = content.ljust(offset, b"\0")
    return content[:offset] + more + content[offset + len(more) :]


def states(top: Folder, draw: random.Random, num: int) -> Iterator[Tree]:
    """What may be found after a loss of power at one moment: nothing of what is pending, all of it, and others."""
    yield _tree(top, lambda folder: [], lambda file: file.forced)
    yield _tree(top, lambda folder: folder.pending, _all_written)
    yield _tree(top, lambda folder: folder.pending, lambda file: file.forced)
    yield _tree(top, lambda folder: [], _all_written)
    for _ in range(num - 4):
        share = draw.random()
        yield _tree(
            top,
            lambda folder, share=share: [each for each in folder.pending if draw.random() < share],
            lambda file: _torn(file, draw),
        )


def _all_written(file: File) -> bytes:
    content = file.forced
    for change in file.pending:
        content = _written(content, change)
    return content


def _torn(file: File, draw: random.Random) -> bytes:
    """Some sectors of what was written, at some length."""
    if not file.pending:
        return file.forced
    content = file.forced
    for change in file.pending:
        if draw.random() < 0.15:
            continue
        if isinstance(change, int):
            content = _written(content, change)
            continue
        offset, more = change
        end = offset + len(more)
        cuts = [offset, *range((offset // SECTOR + 1) * SECTOR, end, SECTOR), end]
        way = draw.choice(("prefix", "sectors", "length alone"))
        if way == "prefix":
            content = _written(content, (offset, more[: draw.choice(cuts) - offset]))
            continue
        whole = bytearray(_written(content, (offset, bytes(len(more)))))
        if way == "sectors":
            for start, stop in itertools.pairwise(cuts):
                if draw.random() < 0.5:
                    whole[start:stop] = more[start - offset : stop - offset]
        content = bytes(whole)
    return content


def _tree(
    top: Folder, changes: Callable[[Folder], list[dict[str, Any]]], content: Callable[[File], bytes]
) -> Tree:
    found: Tree = {}

    def walk(folder: Folder, prefix: str) -> None:
        entries = dict(folder.forced)
        for each in changes(folder):
            _apply(entries, each)
        for name, below in sorted(entries.items()):
            if isinstance(below, Folder):
                found[prefix + name] = None
                walk(below, f"{prefix}{name}/")
            else:
                found[prefix + name] = content(below)

    walk(top, "")
    return found


def view(tree: Tree, whole: set[bytes]) -> str:
    """What a program can tell apart: not how a file is damaged, nor what is in one that nobody reads."""
    found: dict[str, Any] = {}
    for name, content in tree.items():
        name = re.sub(r"\.\d+-[0-9a-f]+\.partial", ".*.partial", name)
        if content is None or ".partial" in name:
            found[name] = None
        elif name.endswith(".jsonl"):
            found[name] = (content.count(b"\n"), b"\0" in content, content.endswith(b"\n"))
        elif name.endswith((".safetensors", "manifest.json")):
            found[name] = hashlib.sha256(content).digest() in whole
        else:
            found[name] = hashlib.sha256(content).hexdigest()
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()


@dataclass
class Losses:
    """Counts of one scenario."""

    moments: int = 0
    states: int = 0
    distinct: int = 0
    continued: int = 0
    problems: list[str] = field(default_factory=list)


def lose_power(ready: Ready, num: int, seed: int = 0, most: int | None = None) -> Losses:
    """`num` states after each operation of a scenario: each opened, and one of those that look alike continued.

    `most`: so many moments at most, spread over the whole.
    """
    found, draw = Losses(), random.Random(seed)
    with ready.copy() as folder:
        disk = Disk(folder)
        with intercept(disk):
            assert ready.scenario.command() == 0
    moments = disk.moments if most is None else disk.moments[:: max(1, len(disk.moments) // most)]
    whole = {hashlib.sha256(each).digest() for _, top in disk.moments for each in _contents(top)}
    seen: set[str] = set()
    alike: set[str] = set()
    for at, (name, top) in enumerate(moments):
        found.moments += 1
        for tree in states(top, draw, num):
            found.states += 1
            exact = hashlib.sha256(repr(sorted(tree.items())).encode()).hexdigest()
            if exact in seen:
                continue
            seen.add(exact)
            found.distinct += 1
            problem = _try(ready, tree, is_new := view(tree, whole) not in alike)
            alike.add(view(tree, whole))
            found.continued += is_new
            if problem:
                found.problems.append(f"{ready.scenario.name}, after {at} ({name}): {problem}")
    return found


def _contents(top: Folder) -> Iterator[bytes]:
    for each in top.seen.values():
        if isinstance(each, Folder):
            yield from _contents(each)
        elif not each.pending:
            yield each.forced


def _try(ready: Ready, tree: Tree, continued: bool) -> str | None:
    """Open a state, and continue it; what is wrong with it."""
    with ready.empty() as folder:
        for name, content in tree.items():
            if content is None:
                (folder / name).mkdir()
            else:
                (folder / name).write_bytes(content)
        problem = _opened(folder)
        if problem or not continued:
            return problem
        ended = in_child(ready.scenario.command)
        if ended.code != 0 or "Traceback" in ended.said:
            return f"the command ended with {ended.code}: {ended.said[-600:]}"
        left = left_in(folder)
    differing = [
        name for name in left.keys() | ready.expected.keys() if left.get(name) != ready.expected.get(name)
    ]
    return f"other files: {', '.join(sorted(differing))}" if differing else None


def _opened(folder: Path) -> str | None:
    if (folder / "tiny.py").exists():
        try:
            for path in sorted((folder / "runs" / "runs").glob("*")):
                place = TrialRunDirectory(path)
                place.record()
                place.events()
        except (DamagedRun, ValueError, OSError) as error:
            return str(error)
        return None
    corrupt = [record for record in open_store(folder / "runs").records() if record.state == "corrupt"]
    return f"a corrupt run: {corrupt[0].reason}" if corrupt else None


def cut_power(kept: Kept, effort: Effort) -> None:
    """Every scenario that is missing, with more states after each operation where there is time."""
    num = 700 if effort.is_long else 70
    done = {row["scenario"] for row in kept.rows("power") if row["states per moment"] == num}
    for name in SCENARIOS.keys() - done:
        with in_memory() as folder:
            with contextlib.redirect_stdout(io.StringIO()):
                made = ready(name, folder / "one")
            started = time.monotonic()
            row = {"part": "power", "scenario": name, "states per moment": num, **vars(lose_power(made, num))}
            kept.add({**row, "seconds": time.monotonic() - started})


def _table(rows: list[Row]) -> str:
    columns = ("moments", "states", "distinct", "continued")
    lines = [f"{'loss of power':<14}" + "".join(f"{name:>11}" for name in columns) + "  bad  seconds"]
    for row in rows:
        numbers = "".join(f"{row[name]:>11}" for name in columns)
        lines.append(f"{row['scenario']:<14}{numbers}  {len(row['problems']):>3}  {row['seconds']:>7.0f}")
    return "\n".join(lines)


PART = Part("power", cut_power, _table)
