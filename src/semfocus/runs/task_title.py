"""What a task is called where people read: one of a file by the name of the file, not by where it lies."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath
from typing import Any

_OF_FILES = ("file:", "text:")
#: no file, but a folder may be called so
_STDLIB = "text:stdlib"


def task_title(task: object, among: Iterable[object] = ()) -> str:
    """The task's own name; of a path its last part, and as many parents as tell it from the other tasks.

    >>> task_title("text:/home/me/book.txt"), task_title("parity")
    ('text:book.txt', 'parity')
    >>> task_title("file:/new/a/x.csv", among=["file:/old/a/x.csv", "file:/y/x.csv"])
    'file:new/a/x.csv'
    """
    name = str(task)
    kind = next((each for each in _OF_FILES if name.startswith(each)), None)
    if kind is None or name == _STDLIB:
        return name
    own = _parts(name, kind)
    others = [_parts(each, kind) for each in {_STDLIB, *map(str, among)} - {name} if each.startswith(kind)]
    for num in range(1, len(own)):
        if all(each[-num:] != own[-num:] for each in others):
            return kind + "/".join(own[-num:])
    return name


def tasks_of(records: Iterable[Mapping[str, Any]]) -> set[str]:
    """The tasks of records, of which some may have no spec that could be read."""
    specs = [record.get("spec") or {} for record in records]
    return {str(spec["task"]) for spec in specs if "task" in spec}


def _parts(name: str, kind: str) -> tuple[str, ...]:
    return PurePath(name.removeprefix(kind)).parts
