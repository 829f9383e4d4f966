"""Builds the sdist and the wheel, installs them as users would, and runs what they installed.

    python3 .ci/packages            # or: make packages; about 15 minutes on two cores

Everything happens in a temporary folder with spaces in its name. As root, the sdist is installed by the user `nobody`.
"""

import os
import pwd
import shutil
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from artefacts import Build
from environment import Environment, Person
from steps import Action, Failure, Skip, Steps


def nobody(home: Path) -> Environment:
    """An environment of the user `nobody`, who has few rights."""
    if os.getuid() != 0:
        raise Skip("only root can run commands as another user")
    account = pwd.getpwnam("nobody")
    os.chown(home, account.pw_uid, account.pw_gid)
    person = Person(home, account.pw_name)
    return Environment(home / "sdist env", person, python_of(person))


def python_of(person: Person) -> Path:
    """The first Python that a person may run, beginning with ours."""
    names = [f"python3.{minor}" for minor in range(11, 20)] + ["python3"]
    found = [Path(folder, name) for folder in os.environ["PATH"].split(os.pathsep) for name in names]
    for each in [Path(sys.executable).resolve(), *found]:
        try:
            code = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))"
            person.call(each, "-c", code, path=os.environ["PATH"], folder=person.home)
        except (Failure, OSError):
            continue
        return each
    raise Skip(f"{person.name} can run no Python 3.11 with venv")


def fake_compilers(folder: Path) -> str:
    """`broken` fails always, `no-openmp` where OpenMP is asked for; the PATH that has them."""
    folder.mkdir()
    refuse = 'for each; do case $each in -fopenmp) echo "unknown option $each" >&2; exit 1;; esac; done\n'
    for name, script in {"broken": "exit 1\n", "no-openmp": f'{refuse}exec c++ "$@"\n'}.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}")
        (folder / name).chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


def try_packages(folder: Path, steps: Steps) -> None:
    build = Build(folder / "build", Person(folder / "build"))
    build.folder.mkdir()
    steps.run_all([("build sdist and wheel", build.make)])
    if steps.failed():
        return
    steps.run("sdist: contents", build.check_sdist)
    steps.run("wheel: contents", build.check_wheel)
    steps.run("wheel: what it needs", build.check_needs)
    own = Environment(folder / "wheel env", Person(folder / "wheel home"), Path(sys.executable))
    steps.run_all(
        [
            ("wheel: empty environment", own.create),
            ("wheel: install, no compiler", lambda: own.install(build.file("*.whl"))),
            *uses("wheel", own, kernels=True, trains=True),
        ]
    )
    home = folder / "user home"
    home.mkdir()
    theirs = Environment(home / "sdist env", Person(home), Path(sys.executable))
    try:
        theirs = nobody(home)
    except Skip as reason:
        steps.rows.append(("sdist: as the user nobody", "skipped", 0.0, f"{reason}; the same as this user:"))
    who = theirs.person.name or "this user"
    if steps.run(f"sdist: empty environment of {who}", theirs.create):
        try_sdist(build.file("*.tar.gz"), theirs, fake_compilers(folder / "compilers"), steps)


def try_sdist(sdist: Path, environment: Environment, fakes: str, steps: Steps) -> None:
    """With a compiler, without one, with one that fails, and with one that has no OpenMP."""
    cases: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
        "compiler": ({"tools": os.environ["PATH"]}, {"kernels": True, "trains": True}),
        "no compiler": ({}, {"kernels": False, "trains": True, "reason": "No such file or directory"}),
        "broken compiler": (
            {"tools": fakes, "CC": "broken", "CXX": "broken"},
            {"kernels": False, "reason": "broken: "},
        ),
        "no OpenMP": (
            {"tools": fakes, "CC": "no-openmp", "CXX": "no-openmp"},
            {"kernels": True, "openmp": False},
        ),
    }
    for case, (variables, expected) in cases.items():
        steps.run_all(
            [
                (f"sdist, {case}: install", partial(environment.install, sdist, **variables)),
                *uses(f"sdist, {case}", environment, **expected),
                (f"sdist, {case}: uninstall", environment.uninstall),
            ]
        )


def uses(
    name: str,
    environment: Environment,
    *,
    kernels: bool,
    trains: bool = False,
    openmp: bool = True,
    reason: str = "",
) -> list[tuple[str, Action]]:
    steps: list[tuple[str, Action]] = [
        (f"{name}: doctor", lambda: environment.doctor(kernels, openmp, reason)),
        (f"{name}: library", lambda: environment.library(kernels)),
    ]
    return (
        [*steps, (f"{name}: study quick --seeds 1", lambda: environment.study(kernels))] if trains else steps
    )


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # so that the folder is removed
    steps = Steps()
    folder = Path(tempfile.mkdtemp(prefix="semfocus packages "))
    try:
        folder.chmod(0o755)  # another user looks into it
        try_packages(folder, steps)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"\n{steps.table()}")
    sys.exit(1 if steps.failed() else 0)


if __name__ == "__main__":
    main()
