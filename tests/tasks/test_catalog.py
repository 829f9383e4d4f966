from dataclasses import dataclass
from pathlib import Path

import pytest

from semfocus.tasks import TASKS, FileTask, catalog, parse_task, register_task
from semfocus.tasks.marked_majority import MarkedMajority
from semfocus.tasks.parity import Parity


@pytest.fixture(autouse=True)
def _own_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    for name in set(catalog._CLASSES) - catalog.BUILT_IN:
        monkeypatch.delitem(catalog._CLASSES, name)
        monkeypatch.delitem(TASKS, name, raising=False)
    monkeypatch.setattr(catalog, "_CLASSES", dict(catalog._CLASSES))
    monkeypatch.setattr(catalog, "TASKS", dict(TASKS))


@dataclass(frozen=True)
class Odd(Parity):
    name = "odd"


@dataclass(frozen=True)
class Repeat(Parity):
    times: int

    name = "repeat"


def test_the_papers_tasks_and_ours_are_known_by_name() -> None:
    assert list(TASKS) == [
        "listops",
        "parity",
        "even_pairs",
        "missing_duplicate",
        "cycle_navigation",
        "stack_manipulation",
        "modular_arithmetic",
        "solve_equation",
        "marked_majority",
        "marked_pair",
    ]
    assert {name: task.name for name, task in TASKS.items()} == {name: name for name in TASKS}


@pytest.mark.parametrize("name", list(TASKS))
def test_a_name_and_the_text_form_both_give_the_task(name: str) -> None:
    assert parse_task(name) == parse_task(str(TASKS[name])) == TASKS[name]


def test_arguments_are_read() -> None:
    assert parse_task("marked_majority(9)") == MarkedMajority(9)
    assert parse_task(" marked_majority ( 9 ) ") == MarkedMajority(9)


def test_a_misspelt_name_gets_a_suggestion_and_the_known_names() -> None:
    with pytest.raises(
        ValueError, match=r"unknown task 'parety' \(did you mean 'parity'\?\); known: listops, parity"
    ) as error:
        parse_task("parety")
    assert all(name in str(error.value) for name in TASKS)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read the task ''"),
        ("parity(", "cannot read the task"),
        ("parity(3)", "cannot use '3'; expected parity"),
        ("marked_majority(x)", "'x' is not a number; expected marked_majority"),
        ("marked_majority(5,7)", "cannot use '7'"),
        ("marked_majority(5.0)", "m must be an integer, got 5.0"),
        ("marked_majority(4)", "m must be odd"),
    ],
)
def test_a_bad_text_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError) as error:
        parse_task(text)
    assert message in str(error.value)


def test_a_file_is_a_task(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("sequence,label\n0 1,a\n")
    task = parse_task(f"file:{path}")
    assert isinstance(task, FileTask)
    assert str(task) == f"file:{path}"


def test_a_files_home_directory_is_expanded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "mine.csv").write_text("sequence,label\n0 1,a\n")
    assert parse_task("file:~/mine.csv").path == tmp_path / "mine.csv"


@pytest.mark.parametrize("path", ["", "nowhere.csv", "nowhere.txt"])
def test_a_file_that_cannot_be_read_is_a_value_error(path: str) -> None:
    with pytest.raises(ValueError, match=r"no such file|the ending must be one of"):
        parse_task(f"file:{path}")


def test_a_registered_task_is_known() -> None:
    assert register_task(Odd) is Odd
    assert parse_task("odd") == catalog.TASKS["odd"] == Odd()


def test_a_registered_task_without_defaults_is_known_by_its_arguments_only() -> None:
    register_task(Repeat)
    assert parse_task("repeat(3)") == Repeat(3)
    assert "repeat" not in catalog.TASKS
    with pytest.raises(ValueError, match=r"expected repeat\(times\)"):
        parse_task("repeat")


def test_registering_again_replaces() -> None:
    @dataclass(frozen=True)
    class Newer(Odd):
        pass

    register_task(Odd)
    register_task(Newer)
    assert type(parse_task("odd")) is type(catalog.TASKS["odd"]) is Newer


def test_a_built_in_name_is_taken() -> None:
    @dataclass(frozen=True)
    class Mine(Odd):
        name = "parity"

    with pytest.raises(
        ValueError, match=r"the task name 'parity' is taken by a built-in task; choose another"
    ):
        register_task(Mine)
    assert type(parse_task("parity")) is Parity
