"""Names of the house: a module's name says its room, and a class has a name of its own."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import pytest

from tests.house import QUICK, passed_by, passed_twice

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "semfocus"

MOST_ROOMS = 2
#: the names of their files are words that users type
OF_USERS = ("cli", "recipes")
#: that `study quick` may pass without its report, where other processes train and where its own does; and with it
MOST_FILES, MOST_FILES_IN_ONE_PROCESS, MOST_FILES_WITH_REPORT = 60, 85, 125
SMALLEST = ["--patterns", "full; top_k(5)", "-s", "training.num_train=20", "-s", "training.num_held_out=20"]


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
    """The classes and aliases of types with more than one meaning, with the files that declare them.

    A class has its name alone. Files may repeat an alias, such as `Row`, where it is the same type, read-only or not.
    """
    meanings: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, source in sources.items():
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef):
                meanings[node.name].append((f"class of {name}", name))
            elif isinstance(node, ast.Assign) and is_alias(alias := ast.unparse(node.targets[0])):
                text = ast.unparse(node.value).replace("Mapping[", "dict[")
                meanings[alias].append((text, name))
    return {
        name: [where for _, where in found]
        for name, found in meanings.items()
        if len({meaning for meaning, _ in found}) > 1
    }


def is_alias(name: str) -> bool:
    """Values are in lower or in upper case, types are `LikeThis`; a name with an underscore is nobody else's."""
    return name[:1].isupper() and not name.isupper()


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


def test_a_name_of_a_type_has_one_meaning() -> None:
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
    assert declared_twice({"a.py": "class Row: ...", "b.py": "Row = dict[str, int]"}) == {
        "Row": ["a.py", "b.py"]
    }
    assert declared_twice({"a.py": "Row = list[int]", "b.py": "Row = tuple[int]"}) == {
        "Row": ["a.py", "b.py"]
    }
    assert declared_twice({"a.py": "Row = Mapping[str, int]", "b.py": "Row = dict[str, int]"}) == {}
    assert declared_twice({"a.py": "ROW = 1", "b.py": "ROW = 2"}) == {}


def test_a_study_stays_out_of_cli_and_passes_few_files() -> None:
    """Measured by tests/house.py, which says what counts; version 0.1.0 came back into cli four times."""
    trained, reported = passed_twice(*QUICK, *SMALLEST, "--executor", "serial")
    assert trained.returns | reported.returns == set()
    assert len(trained.files) <= MOST_FILES_IN_ONE_PROCESS, sorted(trained.files)
    passed = trained.files | reported.files
    assert len(passed) <= MOST_FILES_WITH_REPORT, sorted(reported.files - trained.files)


@pytest.mark.slow
def test_a_study_whose_runs_train_elsewhere_passes_fewer() -> None:
    """With workers, as `semfocus study` does it."""
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


#: rooms whose files are those of runs, trials, plans and measurements
KEEPING = ("runs", "execution", "measurements", "training", "trial", "studies", "campaign")
#: (module, name) that are about other files
OTHER_FILES = {
    ("execution/worker.py", "fdopen"): "the pipes of a worker",
    ("execution/worker.py", "open"): "the empty device",
    ("execution/worker.py", "write_text"): "its priority, a file of the kernel",
    ("execution/executors/ray.py", "read_bytes"): "the recipe file of a user",
    ("execution/executors/ray_worker.py", "mkdir"): "a folder that ends with the job",
    ("execution/executors/ray_worker.py", "write_bytes"): "a folder that ends with the job",
    ("runs/recipe_file.py", "read_bytes"): "the recipe file of a user",
    ("runs/progress.py", "read_text"): "the locks of the kernel",
}
_OPERATIONS = {
    *("open", "fdopen", "read_text", "read_bytes", "write_text", "write_bytes", "touch", "mkdir", "makedirs"),
    *("rename", "replace", "unlink", "remove", "rmdir", "rmtree", "move", "copytree", "copyfile", "copy2"),
    *("fsync", "truncate", "ftruncate", "flock", "symlink_to", "link", "symlink"),
}


def operations_on_files(source: str) -> set[str]:
    """Names of calls that touch files, of the built-in `open`, of `os`, `shutil`, `fcntl`, or of a path."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id == "open":
            found.add("open")
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _OPERATIONS:
            # `text.replace(old, new)`, `list.remove(each)` and dataclasses are about no file
            of = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            is_method = node.func.attr in ("replace", "remove", "move", "link") and of not in ("os", "shutil")
            if not is_method or (node.func.attr == "replace" and len(node.args) == 1 and not node.keywords):
                found.add(node.func.attr)
    return found


def test_files_of_the_store_are_touched_in_one_module_alone() -> None:
    """There every operation is numbered, so that tests/faults can make any of them fail."""
    assert operations_on_files("path.unlink(); open(p)") == {"unlink", "open"}
    assert operations_on_files("text.replace('a', 'b'); names.remove(x)") == set()
    assert operations_on_files("os.replace(a, b); partial.replace(target)") == {"replace"}
    paths = [path for room in KEEPING for path in sorted((SOURCE / room).rglob("*.py"))]
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in [*paths, SOURCE / "study.py"]
        for name in operations_on_files(path.read_text(encoding="utf-8"))
    }
    assert found == set(OTHER_FILES)
