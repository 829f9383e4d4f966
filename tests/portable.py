"""The test suite as other machines would see it: `make portable`.

Each configuration is one run of pytest with other instruction sets, without kernels, without extras, on one
core, and so on. The work goes on in the background when the terminal is closed; the same command shows how
far it is and continues what was interrupted. What passed is kept until a file of the project changes.

    python tests/portable.py               # start or continue, follow, print the table
    python tests/portable.py --status      # the table as it is now
    python tests/portable.py --only avx2   # one configuration
    python tests/portable.py --stop        # end the work in the background
"""

import argparse
import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "build" / "portable"


@dataclass(frozen=True)
class Configuration:
    """How one run of pytest differs from `make test`; no paths: the whole suite."""

    about: str
    environment: dict[str, str | None] = field(default_factory=dict)  # None: unset
    paths: tuple[str, ...] = ()
    processes: int = 2  # of pytest
    one_core: bool = False
    without_extras: bool = False


def under_tests(*names: str) -> tuple[str, ...]:
    return tuple(f"tests/{name}" for name in names)


#: what a caller may have set and only a configuration may decide
DECIDING = (
    *("SEMFOCUS_KERNELS", "SEMFOCUS_INSTRUCTION_SET", "SEMFOCUS_TEST_THREADS"),
    *("ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "OMP_NUM_THREADS"),
)
NUMERICAL = under_tests("mechanisms", "model", "probes", "training")
CONFIGURATIONS = {
    "as is": Configuration("what `make test` runs"),
    "avx2": Configuration(
        "kernels and PyTorch on AVX2",
        {
            "SEMFOCUS_INSTRUCTION_SET": "avx2",
            "ATEN_CPU_CAPABILITY": "avx2",
            "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        },
    ),
    "no kernels": Configuration(
        "no compiler was there; PyTorch without vector instructions",
        {"SEMFOCUS_KERNELS": "none", "ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    ),
    "portable kernels": Configuration(
        "kernels for any processor", {"SEMFOCUS_INSTRUCTION_SET": "portable"}, NUMERICAL
    ),
    "no extras": Configuration(
        "the wheel in an environment without optional packages",
        paths=under_tests("integrations", "trial", "tasks", "report", "cli", "studies", "test_imports.py"),
        without_extras=True,
    ),
    "one core": Configuration(
        "one usable core",
        paths=under_tests("studies", "training", "cli", "trial"),
        processes=1,
        one_core=True,
    ),
    "two threads": Configuration(
        "two threads per run",
        {"SEMFOCUS_TEST_THREADS": "2", "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"},
        NUMERICAL,
        processes=1,
    ),
    "odd habits": Configuration(
        "no HOME, a locale without Unicode, another time zone and hash seed",
        {
            "HOME": None,
            "LC_ALL": "C",
            "PYTHONUTF8": "0",
            "PYTHONCOERCECLOCALE": "0",
            "TZ": "Asia/Kathmandu",
            "PYTHONHASHSEED": "7",
            "TERM": "dumb",
        },
        under_tests("cli", "report", "runs", "tasks", "test_readme.py", "test_durable.py"),
    ),
}


@dataclass(frozen=True)
class Outcome:
    """What one configuration gave."""

    passed: int
    failed: int
    skipped: int
    minutes: float
    failures: tuple[str, ...]
    exit_code: int = 0  # of pytest, which may end early without a failure

    @property
    def is_green(self) -> bool:
        return self.failed == 0 and self.passed > 0 and self.exit_code == 0


def fingerprint() -> str:
    """One number for every file of the project, so that nothing stale is called green."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True
    )
    digest = hashlib.sha256(f"{sys.version} {version('torch')}".encode())
    digest.update(b"".join(path.read_bytes() for path in sorted((ROOT / "src").rglob("_native*.so"))))
    for name in sorted(filter(None, listed.stdout.split(b"\0"))):
        path = ROOT / os.fsdecode(name)
        digest.update(name + b"\0" + (path.read_bytes() if path.is_file() else b""))
    return digest.hexdigest()[:16]


def place_of(name: str) -> Path:
    """Where the files of a configuration lie: log, JUnit report, outcome."""
    return FOLDER / name.replace(" ", "_")


def kept_outcome(name: str, state: str) -> Outcome | None:
    """The outcome of this very state of the project, if the configuration has ended."""
    path = place_of(name) / "outcome.json"
    if not path.exists():
        return None
    values = json.loads(path.read_text(encoding="utf-8"))
    if values.pop("state") != state:
        return None
    return Outcome(**{**values, "failures": tuple(values["failures"])})


def run(name: str, state: str) -> Outcome:
    """Run pytest in this configuration; what it prints goes to a log."""
    configuration, place = CONFIGURATIONS[name], place_of(name)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    started, junit = time.monotonic(), place / "junit.xml"
    with open(place / "log", "w", encoding="utf-8") as log:
        try:
            python = without_extras(log) if configuration.without_extras else sys.executable
        except subprocess.CalledProcessError:
            return keep(
                name, state, Outcome(0, 1, 0, 0.0, (f"no environment could be made: see {place}/log",))
            )
        words = [python, "-m", "pytest", "-q", "-o", "junit_family=xunit1", f"--junitxml={junit}"]
        if configuration.processes > 1:
            words += ["-n", str(configuration.processes), "--dist", "loadfile"]
        cores = sorted(os.sched_getaffinity(0))[:1] if configuration.one_core else os.sched_getaffinity(0)
        environment = {**os.environ, **dict.fromkeys(DECIDING), **configuration.environment}
        done = subprocess.run(
            [*words, *configuration.paths],
            cwd=ROOT,
            env={key: value for key, value in environment.items() if value is not None},
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
            check=False,
        )
    return keep(name, state, read_outcome(junit, (time.monotonic() - started) / 60, done.returncode))


def keep(name: str, state: str, outcome: Outcome) -> Outcome:
    """Write the outcome where the table looks for it."""
    place, text = place_of(name), json.dumps({**outcome.__dict__, "state": state})
    (place / "outcome.partial").write_text(text)
    (place / "outcome.partial").replace(place / "outcome.json")
    return outcome


def read_outcome(junit: Path, minutes: float, exit_code: int) -> Outcome:
    """The counts of a JUnit report; without one (pytest did not get that far) one failure."""
    log = junit.parent / "log"
    if not junit.exists():
        return Outcome(0, 1, 0, minutes, (f"pytest did not run: see {log}",), exit_code)
    cases = ElementTree.parse(junit).getroot().iter("testcase")
    failures, skipped, passed = [], 0, 0
    for case in cases:
        kinds = {child.tag for child in case}
        if kinds & {"failure", "error"}:
            failures.append(f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}")
        elif "skipped" in kinds:
            skipped += 1
        else:
            passed += 1
    if exit_code and not failures:
        failures = [f"pytest ended with {exit_code}: see {log}"]
    return Outcome(passed, len(failures), skipped, minutes, tuple(failures), exit_code)


def without_extras(log: TextIO) -> str:
    """The Python of an environment with the package as a wheel, its dependencies, and what tests need; made once."""
    folder = FOLDER / "environment"
    python = folder / "bin" / "python"
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    mark = folder / "lock"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = ["-c", str(ROOT / "requirements.lock")]
    if not mark.exists() or mark.read_text(encoding="utf-8") != lock:
        shutil.rmtree(folder, ignore_errors=True)
        run_logged([sys.executable, "-m", "venv", str(folder)], log)
        torch = next(line for line in lock.splitlines() if line.startswith("torch=="))
        tools = ["setuptools", "pytest", "pytest-xdist", "hypothesis"]
        run_logged([*pip, *constraints, torch, *tools], log)
        run_logged([*pip, *constraints, "--no-build-isolation", str(ROOT)], log)
        mark.write_text(lock)
    for leftover in (ROOT / "build").glob("lib*"):  # setuptools would pack modules that are no more
        shutil.rmtree(leftover)
    run_logged([*pip, "--no-deps", "--no-build-isolation", "--force-reinstall", str(ROOT)], log)
    return str(python)


def run_logged(words: Sequence[str], log: TextIO) -> None:
    log.write(f"$ {' '.join(words)}\n")
    log.flush()
    subprocess.run(words, stdout=log, stderr=subprocess.STDOUT, check=True, cwd=ROOT)


def work(names: Sequence[str]) -> None:
    """Run what has not ended, one configuration after the other; only one process at a time does so."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        (FOLDER / "process").write_text(str(os.getpid()))
        for name in names:
            if not is_green(name, state := fingerprint()):
                (FOLDER / "now").write_text(name)
                run(name, state)
        (FOLDER / "process").unlink()


def is_green(name: str, state: str) -> bool:
    """Whether it passed in this state of the project; what failed is run again."""
    outcome = kept_outcome(name, state)
    return outcome is not None and outcome.is_green


def is_working() -> bool:
    """Whether a process holds the lock."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with open(FOLDER / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def table(names: Sequence[str]) -> tuple[str, bool]:
    """The outcomes as text, and whether all are green."""
    state, green = fingerprint(), True
    current = (
        (FOLDER / "now").read_text(encoding="utf-8") if is_working() and (FOLDER / "now").exists() else None
    )
    lines = [f"{'configuration':<18}{'passed':>8}{'failed':>8}{'skipped':>9}{'minutes':>9}  result"]
    failures = []
    for name in names:
        outcome = kept_outcome(name, state)
        if outcome is None:
            word = "running" if name == current else "not run for this state of the project"
            lines.append(f"{name:<18}{'':>34}  {word}")
            green = False
            continue
        word = "ok" if outcome.is_green else "FAILED"
        counts = f"{outcome.passed:>8,}{outcome.failed:>8}{outcome.skipped:>9}{outcome.minutes:>9.1f}"
        lines.append(f"{name:<18}{counts}  {word}: {CONFIGURATIONS[name].about}")
        green = green and outcome.is_green
        failures += [f"  {name}: {failure}" for failure in outcome.failures]
    return "\n".join([*lines, *failures]), green


def follow() -> None:
    """Wait for the work to end; Ctrl-C ends the waiting only."""
    shown = None
    while is_working():
        path = FOLDER / "now"
        if path.exists() and (now := path.read_text(encoding="utf-8")) != shown:
            shown = now
            print(f"running: {shown} ({CONFIGURATIONS[shown].about})", flush=True)
        time.sleep(1)


def start(names: Sequence[str]) -> None:
    """Start the work in a session of its own, and wait until it holds the lock."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "now").unlink(missing_ok=True)
    words = [word for name in names for word in ("--only", name)]
    with open(FOLDER / "errors", "w", encoding="utf-8") as errors:
        child = subprocess.Popen(
            [sys.executable, __file__, "--work", *words],
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stderr=errors,
        )
    while child.poll() is None and not is_working():
        time.sleep(0.1)


def stop() -> None:
    """Interrupt pytest, so that tests can end what they started; then end what is left of the group."""
    path = FOLDER / "process"
    if not (is_working() and path.exists()):
        return
    group = int(path.read_text(encoding="utf-8"))
    for number, patience in ((signal.SIGINT, 20), (signal.SIGKILL, 5)):
        os.killpg(group, number)
        waited_until = time.monotonic() + patience
        while is_working() and time.monotonic() < waited_until:
            time.sleep(0.2)
        if not is_working():
            return


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", choices=CONFIGURATIONS, action="append", help="this configuration; repeatable"
    )
    parser.add_argument("--status", action="store_true", help="print the table and stop")
    parser.add_argument("--stop", action="store_true", help="end the work in the background")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    names = arguments.only or list(CONFIGURATIONS)
    if arguments.stop:
        return stop()
    if arguments.work:
        return work(names)
    if not arguments.status:
        try:
            follow()  # what somebody else started, perhaps for fewer configurations
            if not all(is_green(name, fingerprint()) for name in names):
                start(names)
                follow()
        except KeyboardInterrupt:
            print("it goes on in the background; `make portable` shows it again")
    text, green = table(names)
    print(text)
    sys.exit(0 if green else 1)


if __name__ == "__main__":
    main()
