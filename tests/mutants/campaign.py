"""Every mutant, one by one, in a copy of the project: which test catches it, or that none does.

What was found is kept until a file of the project changes: the same command continues after an interruption.

    python -m tests.mutants.campaign                      # all that are missing, then the table
    python -m tests.mutants.campaign --only "lock of"     # those whose names have this in them
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import pytest

from tests.faults.kept import Effort, Kept, Part, Row
from tests.mutants.attention import ATTENTION
from tests.mutants.inference import STATISTICS
from tests.mutants.kernels import KERNELS
from tests.mutants.mutant import Mutant
from tests.mutants.storage import STORAGE
from tests.mutants.training import TRAINING
from tests.portable import ROOT, fingerprint

MUTANTS: tuple[Mutant, ...] = (*STORAGE, *TRAINING, *STATISTICS, *ATTENTION, *KERNELS)
PACKAGE = Path("src", "semfocus")
#: seconds for the tests of one mutant
PATIENCE = 3600
_FAILED, _PASSED = 1, 0


class Copy:
    """A copy of the project with its compiled kernels, in which a file can be changed for a while."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        words = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout
        names = [Path(os.fsdecode(name)) for name in listed.split(b"\0") if name]
        names += [path.relative_to(ROOT) for path in (ROOT / PACKAGE).rglob("_native*.so")]
        for name in names:
            if (ROOT / name).is_file():  # not one that was removed and is still listed
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        path = self.folder / PACKAGE / mutant.file
        text, right = mutant.text(self.folder / PACKAGE), path.with_name(f"{path.name}.right")
        shutil.copy2(path, right)
        path.write_text(text, encoding="utf-8")
        try:
            if mutant.is_compiled:
                self._build()
            yield
        finally:
            right.replace(path)  # with its time, by which Python knows what it has compiled
            if mutant.is_compiled:
                self._give_back_kernels()

    def _build(self) -> None:
        for kernels in (self.folder / PACKAGE).rglob("_native*.so"):
            kernels.rename(kernels.with_suffix(".right"))
        script = self.folder / "setup.py"
        quick = (
            (ROOT / "setup.py").read_text(encoding="utf-8").replace('"-O3"', '"-O1"')
        )  # to build, not to run
        script.write_text(quick, encoding="utf-8")
        words = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "--force"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode or not list((self.folder / PACKAGE).rglob("_native*.so")):
            raise ValueError(f"the kernels with the defect cannot be built: {done.stderr[-500:]}")

    def _give_back_kernels(self) -> None:
        for kernels in (self.folder / PACKAGE).rglob("_native*.right"):
            kernels.replace(kernels.with_suffix(".so"))

    def first_failure(self, tests: Sequence[str]) -> str:
        """The name of a test that fails, or nothing; ValueError if pytest ends in another way."""
        found, code = _in_fork(self.folder, tests)
        if code is None:  # waiting for ever, or a machine with no time for it
            raise ValueError(f"the tests did not end in {PATIENCE} seconds")
        if code == _PASSED:
            return ""
        if code < 0 and not found:  # the whole process, by a defect of the kernels
            return f"{tests[0]} ends with signal {-code}"
        if code != _FAILED or not found:
            raise ValueError(f"pytest ended with {code} and {found or 'no failure'}")
        return found


class FirstFailure:
    """A plugin of pytest: writes the name of the first test that fails."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.is_written = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.is_written:
            os.write(self.descriptor, report.nodeid.encode())
            self.is_written = True


def _in_fork(folder: Path, tests: Sequence[str]) -> tuple[str, int | None]:
    """The first failure and the exit code (None: it did not end) of pytest on the copy.

    In a fork of this process, which has imported what takes long to import, and nothing of the project itself.
    """
    assert not any(name.split(".")[0] == "semfocus" for name in sys.modules)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.setsid()
            os.close(reading)
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            for name in [name for name in sys.modules if name.split(".")[0] == "tests"]:
                del sys.modules[name]
            os.chdir(folder)
            sys.path[:] = [str(folder / "src"), str(folder), *(path for path in sys.path if path)]
            os.environ["PYTHONPATH"] = str(folder / "src")
            words = ["-q", "-x", "-p", "no:cacheprovider", *tests]
            code = int(pytest.main(words, plugins=[FirstFailure(writing)]))
        finally:
            os._exit(code)
    os.close(writing)
    code = _exit_code(child)
    with open(reading, "rb") as pipe:
        return pipe.read().decode(), code


def _exit_code(child: int) -> int | None:
    """None: it did not end in time, and was ended with all that it started."""
    patient_until = time.monotonic() + PATIENCE
    while time.monotonic() < patient_until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _import_what_takes_long() -> None:
    for name in (
        "torch",
        "numpy",
        "scipy.stats",
        "polars",
        "pydantic",
        "hypothesis",
        "safetensors.torch",
        "typer",
        "rich",
    ):
        import_module(name)


def tried(mutant: Mutant, copy: Copy) -> Row:
    started = time.monotonic()
    problems, caught = [], ""
    try:
        with copy.changed(mutant):
            caught = copy.first_failure(mutant.tests)
        if not caught:
            problems.append(f"survived: {mutant.name} ({mutant.file}), with {' '.join(mutant.tests)}")
    except ValueError as error:
        problems.append(f"{mutant.name}: {error}")
    seconds = time.monotonic() - started
    return {
        "part": "mutants",
        "mutant": mutant.name,
        "caught": caught,
        "problems": problems,
        "seconds": seconds,
    }


def unchanged(copy: Copy, mutants: Sequence[Mutant]) -> Row:
    """The same tests without any defect: a test that fails anyway catches nothing."""
    started = time.monotonic()
    caught = copy.first_failure(sorted({test for mutant in mutants for test in mutant.tests}))
    problems = [f"{caught} fails without any defect"] if caught else []
    seconds = time.monotonic() - started
    return {"part": "mutants", "mutant": "", "caught": caught, "problems": problems, "seconds": seconds}


def attack(kept: Kept, effort: Effort, only: str = "") -> None:
    done = {row["mutant"] for row in kept.rows("mutants")}
    missing = [each for each in MUTANTS if each.name not in done and only in each.name]
    if not missing:
        return
    _import_what_takes_long()
    folders = [kept.path.parent / f"mutants-{place}" for place in range(effort.workers)]
    children = []
    for place, folder in enumerate(folders):
        child = os.fork()
        if child == 0:
            try:
                copy = Copy(folder)
                for mutant in missing[place :: effort.workers]:
                    kept.add(tried(mutant, copy))
                if place == 0 and "" not in done and not only:
                    kept.add(unchanged(copy, MUTANTS))
            finally:
                os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def _table(rows: list[Row]) -> str:
    mutants = [row for row in rows if row["mutant"]]
    caught = sum(bool(row["caught"]) for row in mutants)
    seconds = sum(row["seconds"] for row in rows)
    lines = [f"{'mutants':<66} caught by"]
    for row in sorted(mutants, key=lambda row: row["caught"] == ""):
        lines.append(f"{row['mutant']:<66} {row['caught'] or 'SURVIVED'}")
    without = next((row for row in rows if not row["mutant"]), None)
    if without is not None:
        lines.append(f"without any defect these tests {'FAIL' if without['caught'] else 'pass'}")
    lines.append(
        f"caught: {caught} of {len(mutants)} that were tried, {len(MUTANTS)} made; seconds: {seconds:.0f}"
    )
    return "\n".join(lines)


def _attack_if_long(kept: Kept, effort: Effort) -> None:
    """A quarter of an hour is too much for a sample. In a process of its own, which imports nothing of the project."""
    if effort.is_long:
        words = [sys.executable, "-m", "tests.mutants.campaign", "--workers", str(effort.workers)]
        subprocess.run(words, cwd=ROOT, stdout=subprocess.DEVNULL, check=False)


PART = Part("mutants", _attack_if_long, _table)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="a part of a name")
    parser.add_argument("--workers", type=int, default=2, help="processes at once")
    options = parser.parse_args()
    kept = Kept(fingerprint())
    attack(kept, Effort(False, options.workers), options.only)
    rows = [row for row in kept.rows("mutants") if options.only in row["mutant"]]
    print(_table(rows))
    problems = [problem for row in rows for problem in row["problems"]]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
