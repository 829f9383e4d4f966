"""The tests to run while you edit: `make quicktest`.

Those whose own imports name a changed module, changed test files, and a small core that is always run.
Changed means: not on the main branch. `make test` runs everything.

    python tests/quick.py            # the paths, for pytest
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
#: what breaks first when something basic breaks; under a minute on two cores
CORE = (
    "tests/test_layers.py",
    "tests/test_imports.py",
    "tests/mechanisms/test_reference.py",
    "tests/mechanisms/test_pattern.py",
    "tests/kernels/test_equality.py",
    "tests/model/test_classifier.py",
    "tests/training/test_loop.py",
    "tests/runs",
    "tests/tasks/test_every_task.py",
)
#: files that no test imports, by how their names begin
BESIDE = {
    "src/semfocus/report/pages/": "tests/report/test_page.py",
    "README.md": "tests/test_readme.py",
    "docs/architecture.md": "tests/test_extension.py",
    "docs/learn.md": "tests/test_learn.py",
    "docs/": "tests/integrations/test_examples.py",
    "examples/learn/": "tests/test_learn.py",
    "benchmarks/": "tests/test_benchmarks.py",
    "setup.py": "tests/test_packages.py",
    ".ci/packages/": "tests/test_packages.py",
    "results/": "tests/cli/test_campaign.py",
}
#: more than so many files of tests, and `make test` is the better choice
MOST = 25


def changed_files() -> set[Path]:
    """What differs from the main branch (or from the last commit, on it), new files included."""
    branches = _git("branch", "--format=%(refname:short)")
    base = _git("merge-base", "HEAD", "main")[0] if "main" in branches else "HEAD"
    names = _git("diff", "--name-only", base) + _git("ls-files", "--others", "--exclude-standard")
    return {ROOT / name for name in names}


def _git(*words: str) -> list[str]:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def module_of(path: Path) -> str:
    """`semfocus.runs.store` for its file."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def exports(package: str) -> dict[str, str]:
    """Where the names of a package come from: its imports, and the table of those it loads when asked."""
    path = SOURCE.joinpath(*package.split(".")) / "__init__.py"
    found: dict[str, str] = {}
    if not path.exists():
        return found
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {alias.asname or alias.name: node.module for alias in node.names}
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(value, ast.Constant):
                    found[str(key.value)] = str(value.value)
    return found


def imported(path: Path) -> set[str]:
    """The modules of ours that a file names in its imports, looked up behind packages."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                found |= {node.module, f"{node.module}.{alias.name}"}
                origin = exports(node.module).get(alias.name)
                while origin is not None and origin not in found:
                    found.add(origin)
                    origin = exports(origin).get(alias.name)
    return found


def touched_tests(changed: set[Path]) -> Iterator[Path]:
    """Changed tests, and tests that import a changed module or a changed helper of tests."""
    python = {path for path in changed if path.suffix == ".py"}
    modules = {module_of(path) for path in python if path.is_relative_to(SOURCE)}
    modules |= {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in python
        if path.is_relative_to(ROOT / "tests")
    }
    if any(path.is_relative_to(SOURCE) and path.suffix in (".cpp", ".h", ".inc") for path in changed):
        modules.add("semfocus.kernels.cpu.library")
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        if path in changed or imported(path) & modules:
            yield path
    for path in sorted(changed):
        name = str(path.relative_to(ROOT))
        yield from (ROOT / tests for start, tests in BESIDE.items() if name.startswith(start))


def chosen(changed: set[Path]) -> list[str]:
    """Paths for pytest, relative to the project."""
    touched = list(dict.fromkeys(str(path.relative_to(ROOT)) for path in touched_tests(changed)))
    if len(touched) > MOST:
        print(f"{len(touched)} files of tests are touched: `make test` runs them all", file=sys.stderr)
        touched = [each for each in touched if ROOT / each in changed]
    core = [path for path in CORE if (ROOT / path).exists()]
    return [*core, *(path for path in touched if not any(path.startswith(each) for each in core))]


if __name__ == "__main__":
    print("\n".join(chosen(changed_files())))
