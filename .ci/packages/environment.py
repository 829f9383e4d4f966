"""A virtual environment of some user, and what semfocus must do when installed there."""

import json
import os
import pwd
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from steps import expect

PROJECT = Path(__file__).resolve().parents[2]
TORCH = next(
    line
    for line in (PROJECT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    if line.startswith("torch==")
)
#: where pip finds packages, and the language; nothing else of ours reaches a command
KEPT_VARIABLES = re.compile(r"(?:PIP|LC|SSL|REQUESTS)_|LANG$|.*_proxy$", re.IGNORECASE)
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++")
LIBRARY_USE = """
import torch
from semfocus import TopK, attention
from semfocus.mechanisms import kernels_in_use

query, key, value = torch.randn(3, 2, 4, 100, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
out, exact = (attention(query, key, value, TopK(5), implementation=each) for each in ("auto", "reference"))
torch.testing.assert_close(out, exact)
print(kernels_in_use())
"""


def last_json(output: str) -> Any:
    """The last line, after whatever warnings."""
    return json.loads(output.splitlines()[-1])


@dataclass(frozen=True)
class Person:
    """Who runs commands: this user, or as root somebody with fewer rights."""

    home: Path
    name: str | None = None

    def call(self, *command: str | Path, path: str, folder: Path, **variables: str) -> str:
        """Standard output and error of a command that succeeds, in an environment without our variables."""
        kept = {name: value for name, value in os.environ.items() if KEPT_VARIABLES.match(name)}
        environment = {**kept, "HOME": str(self.home), "PATH": path, "TMPDIR": str(self.home), **variables}
        group = None if self.name is None else pwd.getpwnam(self.name).pw_gid
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            user=self.name,
            group=group,
            extra_groups=None if self.name is None else [],
        )
        words = " ".join(str(part) for part in command)
        expect(ended.returncode == 0, f"exit code {ended.returncode}: {words}\n{ended.stdout}")
        return ended.stdout


@dataclass
class Environment:
    """A virtual environment with torch, in which nothing but Python is on the PATH unless `tools` says so."""

    folder: Path
    person: Person
    python: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    @property
    def work(self) -> Path:
        """Where commands run: nothing of the project is in sight."""
        return self.person.home / "work folder"

    def call(self, *command: str | Path, tools: str = "", **variables: str) -> str:
        path = f"{self.bin}{os.pathsep}{tools}" if tools else str(self.bin)
        return self.person.call(*command, path=path, folder=self.work, **variables)

    def pip(self, *arguments: str | Path, **variables: str) -> str:
        pip = (self.bin / "python", "-m", "pip", "--disable-pip-version-check")
        return self.call(*pip, *arguments, **variables)

    def create(self) -> str:
        self.person.call("mkdir", "-p", self.work, path=os.environ["PATH"], folder=Path("/"))
        self.person.call(self.python, "-m", "venv", self.folder, path=os.environ["PATH"], folder=self.work)
        found = [name for name in COMPILERS if shutil.which(name, path=str(self.bin))]
        expect(not found, f"compilers are still in sight: {found}")
        self.pip("install", "--quiet", TORCH)
        return f"{self.versions()['torch']} in '{self.folder.name}'"

    def versions(self) -> dict[str, str]:
        return {each["name"]: each["version"] for each in last_json(self.pip("list", "--format=json"))}

    def install(self, package: Path, **variables: str) -> str:
        """As a user would, with dependencies; the torch that is there must do."""
        before = self.versions()
        self.pip("install", "--quiet", package, **variables)
        after = self.versions()
        self.pip("check")
        new = sorted(after.keys() - before.keys() - {"semfocus"})
        changed = [name for name in before if after.get(name) != before[name]]
        expect(not changed, f"replaced: {changed}")
        heavy = [name for name in new if name.startswith(("nvidia", "cuda", "triton", "torch"))]
        expect(not heavy, f"pulled: {heavy}")
        return f"{len(new)} packages came along, torch stayed"

    def uninstall(self) -> str | None:
        self.pip("uninstall", "--quiet", "--yes", "semfocus")
        left = list((self.folder / "lib").glob("python*/site-packages/semfocus*"))
        expect(not left, f"left behind: {left}")
        return None

    def doctor(self, kernels: bool, openmp: bool = True, reason: str = "") -> str:
        facts = last_json(self.call(self.bin / "semfocus", "doctor", "--json"))
        found = facts["kernels"]
        expect((found["in_use"] is not None) == kernels, f"kernels: {found}")
        expect(not kernels or found["openmp"] == openmp, f"kernels: {found}")
        expect(kernels or reason in found["reason"], f"doctor names another reason: {found['reason']}")
        last = self.call(self.bin / "semfocus", "doctor").splitlines()[-1]
        expect(last == f"for a bug report: {facts['bug_report']}", f"the last line is {last}")
        return str(facts["bug_report"] if kernels else found["reason"])

    def library(self, kernels: bool) -> str:
        out = self.call(self.bin / "python", "-c", LIBRARY_USE).splitlines()
        notes = [line for line in out if "no compiled kernels here" in line]
        expect((out[-1] != "None") == kernels, f"kernels in use: {out[-1]}")
        expect(len(notes) == (0 if kernels else 1), f"{len(notes)} warnings that there are no kernels")
        where = self.call(self.bin / "python", "-c", "import semfocus; print(semfocus.__file__)").strip()
        expect(Path(where).is_relative_to(self.folder), f"imported from {where}")
        return f"equals the reference; kernels: {out[-1]}"

    def study(self, kernels: bool) -> str:
        shutil.rmtree(self.work / "runs", ignore_errors=True)
        out = self.call(self.bin / "semfocus", "study", "quick", "--seeds", "1")
        notes = out.count("no compiled kernels here")
        expect(notes == (0 if kernels else 1), f"{notes} notes that there are no kernels")
        used = {
            json.loads(path.read_text(encoding="utf-8"))["environment"]["numerics"]["kernels"]
            for path in (self.work / "runs").glob("*/record.json")
        }
        expect((used != {"none"}) == kernels and len(used) == 1, f"kernels of the runs: {used}")
        expect("top_k(5)" in out, "no table was printed")
        return f"kernels of the runs: {used.pop()}; no kernels noted {notes} times"
