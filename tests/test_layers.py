"""Imports go down only, and siblings on one level never import each other."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "semfocus"

LEVELS = {
    "lazy": 0,
    "words": 0,
    "notation": 0,
    "randomness": 0,
    "durable": 0,
    "reminder": 0,
    "settings": 0.5,
    "kernels": 0.5,
    "mechanisms": 1,
    "tasks": 1,
    "theory": 1,
    "model": 2,
    "integrations": 2,
    "runs": 2,
    "training": 3,
    "probes": 3,
    "measurements": 4,
    "subjects": 4,
    "analysis": 5,
    "execution": 5,
    "studies": 6,
    "recipes": 7,
    "trial": 7,
    "report": 8,
    "study": 9,
    "campaign": 9.5,
    "cli": 10,
    "__main__": 11,
}


def part_of(module: str) -> str:
    """semfocus.tasks.parity -> tasks"""
    return module.split(".")[1] if "." in module else ""


def imports_of(source: str) -> set[str]:
    """Parts of semfocus that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "semfocus":
            found |= {part_of(node.module)} if "." in node.module else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {part_of(alias.name) for alias in node.names if alias.name.startswith("semfocus.")}
    return found & LEVELS.keys()


def violations(part: str, source: str) -> list[str]:
    return [each for each in imports_of(source) if each != part and LEVELS[each] >= LEVELS[part]]


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down_only(path: Path) -> None:
    part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert part in LEVELS, f"give {part} a level"
    assert violations(part, path.read_text(encoding="utf-8")) == []


def test_the_guard_sees_every_form_of_import() -> None:
    assert violations("tasks", "from semfocus.mechanisms import TopK") == ["mechanisms"]
    assert violations("tasks", "def f():\n    import semfocus.cli.app") == ["cli"]
    assert violations("runs", "from semfocus import training") == ["training"]
    assert violations("runs", "from semfocus.tasks import TASKS") == []
