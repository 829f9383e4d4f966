"""The known tasks by name, and the way from text to task."""

from pathlib import Path

from semfocus.notation import read
from semfocus.tasks.cycle_navigation import CycleNavigation
from semfocus.tasks.even_pairs import EvenPairs
from semfocus.tasks.file_task import FileTask
from semfocus.tasks.listops import ListOps
from semfocus.tasks.marked_majority import MarkedMajority
from semfocus.tasks.marked_pair import MarkedPair
from semfocus.tasks.missing_duplicate import MissingDuplicate
from semfocus.tasks.modular_arithmetic import ModularArithmetic
from semfocus.tasks.parity import Parity
from semfocus.tasks.solve_equation import SolveEquation
from semfocus.tasks.stack_manipulation import StackManipulation
from semfocus.tasks.task import Task
from semfocus.tasks.text_task import TextTask

_CLASSES: dict[str, type[Task]] = {
    cls.name: cls
    for cls in (
        ListOps,
        Parity,
        EvenPairs,
        MissingDuplicate,
        CycleNavigation,
        StackManipulation,
        ModularArithmetic,
        SolveEquation,
        MarkedMajority,
        MarkedPair,
    )
}

#: name -> the task with its defaults
TASKS: dict[str, Task] = {name: cls() for name, cls in _CLASSES.items()}
BUILT_IN = frozenset(TASKS)


def parse_task(text: str) -> Task:
    """A task by its name, with arguments (`marked_majority(9)`), or from a file (`file:PATH`, `text:PATH`).

    >>> parse_task("marked_majority(9)")
    MarkedMajority(m=9)
    """
    if text.startswith("file:"):
        return FileTask(Path(text.removeprefix("file:")).expanduser().resolve())
    if text.startswith("text:"):
        return TextTask.at(text.removeprefix("text:"))
    if text.endswith((".csv", ".tsv", ".jsonl")):
        raise ValueError(f"unknown task {text!r}; a data file is written file:{text}")
    return read(text, _CLASSES, "task")


def register_task(cls: type[Task]) -> type[Task]:
    """Make a user's own task known by its name, for specs and the command line."""
    if cls.name in BUILT_IN:
        raise ValueError(f"the task name {cls.name!r} is taken by a built-in task; choose another")
    for needed in ("symbols", "num_classes"):
        if not hasattr(cls, needed):
            raise ValueError(f"task {cls.name}: the class must define {needed}")
    if not hasattr(cls, "chance_accuracy"):
        cls.chance_accuracy = 1.0 / cls.num_classes
    _CLASSES[cls.name] = cls
    try:
        TASKS[cls.name] = cls()
    except TypeError:  # has arguments without defaults: known as name(arguments) only
        TASKS.pop(cls.name, None)
    return cls
