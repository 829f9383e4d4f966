"""Names of the house: a module's name says its room, and a class has a name of its own."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pytest

from tests.house import QUICK, passed_by

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "semfocus"

MOST_ROOMS = 2
#: the names of their files are words that users type
OF_USERS = ("cli", "recipes")
#: that `study quick` without its report may pass
MOST_FILES = 60


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def named() -> list[tuple[str, str]]:
    """(name, room) of the modules and folders whose names are ours to choose."""
    paths = {path.parent if path.stem == "__init__" else path for path in modules()} - {SOURCE}
    return [(path.stem, room_of(path)) for path in sorted(paths) if room_of(path) not in OF_USERS]


def in_many_rooms(found: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    """Of (name, room): the names that occur in more rooms than two."""
    rooms: dict[str, set[str]] = defaultdict(set)
    for name, room in found:
        rooms[name].add(room)
    return {name: where for name, where in rooms.items() if len(where) > MOST_ROOMS}


def declared_twice(sources: Mapping[str, str]) -> Mapping[str, list[str]]:
    """The classes that more than one of these files declares, with the files."""
    places: dict[str, list[str]] = defaultdict(list)
    for name, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    return {name: where for name, where in places.items() if len(where) > 1}


def beside_the_root(source: str, names: Collection[str]) -> list[str]:
    """Imports of a helper of tests by a name that does not begin with `tests`."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            found.append(node.module)
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return [each for each in found if each.split(".")[0] in names]


def test_no_name_of_a_module_or_folder_is_in_more_than_two_rooms() -> None:
    found = named()
    assert {("landscape", "measurements"), ("grids", "measurements")} <= {*found}
    assert in_many_rooms(found) == {}


def test_no_class_name_occurs_twice() -> None:
    sources = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in modules()}
    assert declared_twice(sources) == {}


def test_helpers_of_tests_are_imported_from_one_root() -> None:
    """Under two names a module is loaded twice, and its classes are not the same."""
    files = sorted(TESTS.rglob("*.py"))
    names = {path.stem for path in files} | {path.parent.name for path in files if path.parent != TESTS}
    found = {
        str(path.relative_to(TESTS)): beside
        for path in files
        if (beside := beside_the_root(path.read_text(encoding="utf-8"), names))
    }
    assert found == {}


def test_the_guards_see_what_they_are_for() -> None:
    assert in_many_rooms([("twins", "report"), ("twins", "studies")]) == {}
    assert in_many_rooms([("twins", room) for room in ("report", "studies", "training")]) == {
        "twins": {"report", "studies", "training"}
    }
    assert beside_the_root("import os\nfrom studies.minis import mini_study", {"studies"}) == [
        "studies.minis"
    ]
    assert beside_the_root("def f():\n    import records", {"records"}) == ["records"]
    assert beside_the_root("from tests.execution.minis import mini_study", {"studies"}) == []
    assert declared_twice({"a.py": "class Arm: ...", "b.py": "class Arm: ..."}) == {"Arm": ["a.py", "b.py"]}


@pytest.mark.slow
def test_a_study_stays_out_of_cli_and_passes_few_files() -> None:
    """Measured by tests/house.py, which says what counts; the first house passed 69 files and came back four times."""
    way = passed_by(*QUICK, "--no-report", "--workers", "1", "-s", "training.num_train=64")
    assert way.returns == set()
    assert len(way.files) <= MOST_FILES, sorted(way.files)


def too_long(text: str) -> list[str]:
    """Lines of prose over 100 columns: not those of code, tables and pictures."""
    found, in_code = [], False
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        if len(line) > 100 and not in_code and not line.startswith(("|", "    ", "![")):
            found.append(line)
    return found


def test_prose_wraps_at_a_hundred_columns() -> None:
    root = Path(__file__).parents[1]
    pages = [*root.glob("*.md"), *root.glob("docs/*.md"), *root.glob("results/*.md")]
    assert len(pages) > 10
    assert {page.name: found for page in pages if (found := too_long(page.read_text(encoding="utf-8")))} == {}
    assert too_long("word " * 21) == ["word " * 21], "the guard, tried"
