"""The sdist and the wheel: how they are built, and what they must and must not contain."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from environment import PROJECT, Environment, Person
from steps import Skip, expect

#: part of every Linux with glibc and a C++ runtime
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libgcc_s|libgomp|libpthread|libstdc\+\+|ld-linux.*)\.so.*")
#: beside src/ and what setuptools writes itself
AT_THE_TOP = {
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "MANIFEST.in",
    "README.md",
    "pyproject.toml",
    "setup.py",
}
WRITTEN_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}


def source_files() -> set[str]:
    """The files that a clone would have, as they are now."""
    listing = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=PROJECT, text=True
    )
    return {name for name in listing.split("\0") if name and (PROJECT / name).is_file()}


@dataclass
class Build:
    """The two files, made from a copy of the project that is gone before anything is installed."""

    folder: Path
    person: Person

    @property
    def tools(self) -> Environment:
        return Environment(self.folder / "tools", self.person, Path(sys.executable))

    def file(self, pattern: str) -> Path:
        found = list((self.folder / "dist").glob(pattern))
        expect(len(found) == 1, f"expected one {pattern}, found {[path.name for path in found]}")
        return found[0]

    def make(self) -> str:
        copy = self.folder / "project"
        for name in source_files():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, copy / name)
        tools, path = self.tools, os.environ["PATH"]
        tools.work.mkdir(parents=True)
        self.person.call(tools.python, "-m", "venv", tools.folder, path=path, folder=tools.work)
        tools.pip("install", "--quiet", "build", "auditwheel")
        out = tools.call(
            tools.bin / "python", "-m", "build", "--outdir", self.folder / "dist", copy, tools=path
        )
        shutil.rmtree(copy)
        needed = set(re.findall(r"^\s+- ([\w.-]+)", re.sub(r"\x1b\[[0-9;]*m", "", out), re.MULTILINE))
        expect(needed == {"setuptools"}, f"the build asks for {sorted(needed)}")
        return f"{self.file('*.tar.gz').name}, {self.file('*.whl').name}; asks for {', '.join(needed)} only"

    def check_sdist(self) -> str:
        path = self.file("*.tar.gz")
        with tarfile.open(path) as archive:
            names = {each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()}
        names = {name for name in names if not name.startswith("src/semfocus.egg-info/")}
        wanted = AT_THE_TOP | {name for name in source_files() if name.startswith("src/")}
        return same_files(names, wanted | WRITTEN_BY_SETUPTOOLS, path)

    def check_wheel(self) -> str:
        path = self.file("*.whl")
        with zipfile.ZipFile(path) as archive:
            names = {name for name in archive.namelist() if ".dist-info/" not in name}
        kernels = {name for name in names if re.fullmatch(r"semfocus/kernels/cpu/_native\..*", name)}
        expect(len(kernels) == 1, f"compiled kernels: {sorted(kernels)}")
        wanted = {name.removeprefix("src/") for name in source_files() if name.startswith("src/")}
        return same_files(names - kernels, wanted, path)

    def check_needs(self) -> str:
        if sys.platform != "linux":
            raise Skip("auditwheel is for Linux")
        path = self.file("*.whl")
        expect(path.stem.endswith(f"-linux_{os.uname().machine}"), f"the platform tag of {path.name}")
        shown = self.tools.call(self.tools.bin / "auditwheel", "show", path, tools=os.environ["PATH"])
        needed = set(re.findall(r"\b(?:lib|ld-)[\w.+-]*\.so[.\d]*", shown))
        expect("libgomp.so.1" in needed, f"no OpenMP is needed:\n{shown}")
        others = {name for name in needed if not SYSTEM_LIBRARIES.fullmatch(name)}
        expect(not others, f"needs {sorted(others)}")
        print(shown)
        return f"needs {', '.join(sorted(needed))}"


def same_files(found: set[str], wanted: set[str], path: Path) -> str:
    expect(found >= wanted, f"missing in {path.name}: {sorted(wanted - found)}")
    expect(found <= wanted, f"too much in {path.name}: {sorted(found - wanted)}")
    return f"{len(found)} files, {path.stat().st_size / 1000:.0f} kB"
