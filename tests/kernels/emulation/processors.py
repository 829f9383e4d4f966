"""The compiled kernels on processors that this machine is not: self_test.cpp under qemu, as a table.

python -m tests.kernels.emulation.processors     (what `make emulate` runs)
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from semfocus.kernels.cpu.library import compiled_library
from tests.kernels.emulation.vectors import all_cases, write_cases

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
SOURCE = ROOT / "src/semfocus/kernels/cpu/source"
CROSS_COMPILER = "aarch64-linux-gnu-g++"
PACKAGES = "apt install qemu-user g++ g++-aarch64-linux-gnu"


@dataclass(frozen=True)
class Processor:
    """A processor, the command that emulates it, and the instruction set that the kernels must choose there."""

    name: str
    emulator: tuple[str, ...]
    expected: str
    machine: str = "x86_64"

    def missing(self) -> str | None:
        """The program that is needed and not there."""
        compiler = CROSS_COMPILER if self.is_foreign() else "g++"
        needed = (*self.emulator[:1], compiler)
        return next((each for each in needed if shutil.which(each) is None), None)

    def is_foreign(self) -> bool:
        """Whether the kernels must be compiled for it first."""
        return self.machine != platform.machine()


def has_variants() -> bool:
    """Whether there are kernels for AVX: on x86, if GCC compiled them."""
    library = compiled_library()
    assert library is not None, "the kernels were not compiled"
    return platform.machine() == "x86_64" and b"clang version" not in library.path.read_bytes()


def this_processor() -> Processor:
    """Without emulation. What it should choose is read from the system, not asked of the kernels."""
    flags: set[str] = set()
    if has_variants() and (
        found := re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.M)
    ):
        flags.update(found[1].split())
    expected = "avx2" if {"avx2", "fma"} <= flags else "portable"
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"} <= flags:
        expected = "avx512"
    return Processor("this machine", (), expected, platform.machine())


#: qemu emulates no AVX-512: the server Skylake must fall back on AVX2.
NEHALEM = Processor("Nehalem", ("qemu-x86_64", "-cpu", "Nehalem"), "portable")
HASWELL = Processor("Haswell", ("qemu-x86_64", "-cpu", "Haswell"), "avx2")
SKYLAKE = Processor("Skylake-Server", ("qemu-x86_64", "-cpu", "Skylake-Server"), "avx2")
ARM = Processor("aarch64", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"), "portable", "aarch64")


@dataclass(frozen=True)
class Outcome:
    """What the self-test printed on one processor."""

    processor: Processor
    code: int
    printed: str

    def found(self, pattern: str) -> str:
        match = re.search(pattern, self.printed, re.M)
        return match[1] if match else "-"

    def chosen(self) -> str:
        return self.found(r"^instruction set: (\w+)$")

    def problem(self) -> str | None:
        """What went wrong, in a few words."""
        if self.code in (132, -4):
            return "illegal instruction"
        if self.code != 0:
            return f"exit code {self.code}"
        if self.chosen() != self.processor.expected:
            return f"expected {self.processor.expected}"
        return "no checks" if self.found(r"^checks: (\d+), failed: 0,") in ("0", "-") else None

    def row(self) -> tuple[str, ...]:
        numbers = (self.found(rf"^checks: .*{each} ([^,\s]+)") for each in ("float", "double"))
        checks = self.found(r"^checks: (\d+)")
        return self.processor.name, self.chosen(), checks, *numbers, self.problem() or "passed"


@dataclass(frozen=True)
class Workshop:
    """A fresh folder for the vectors and the programs: each is made when it is first asked for."""

    folder: Path

    def vectors(self) -> Path:
        """Written anew each time: 40 MB that a few seconds of the reference make are not worth keeping."""
        path = self.folder / "vectors.bin"
        if not path.exists():
            write_cases(path, all_cases())
        return path

    def self_test(self, compiler: str = "g++") -> Path:
        program = self.folder / f"self_test_{compiler}"
        flags = ("-O1", "-std=gnu++17", "-Wall", "-Wextra", f"-I{SOURCE}")
        if not program.exists():
            _run(compiler, *flags, str(HERE / "self_test.cpp"), "-o", str(program), "-ldl")
        return program

    def kernels(self, processor: Processor) -> Path:
        """The library that the package loads, or what setup.py builds with the cross compiler."""
        if not processor.is_foreign():
            library = compiled_library()
            assert library is not None, "the kernels were not compiled"
            return library.path
        target = self.folder / processor.machine
        if not target.exists():
            self._cross_compile(target)
        return next(target.glob("semfocus/**/_native*.so"))

    def _cross_compile(self, target: Path) -> None:
        tools = dict.fromkeys(("CC", "CXX"), CROSS_COMPILER)
        tools |= dict.fromkeys(("LDSHARED", "LDCXXSHARED"), f"{CROSS_COMPILER} -shared")
        places = (f"--build-lib={target}", f"--build-temp={target}/objects")
        _run(sys.executable, "setup.py", "build_ext", *places, environment=tools)

    def run(self, processor: Processor, every: int = 1, vectors: Path | None = None) -> Outcome:
        """The self-test there; with `every`, only every so many cases."""
        program = self.self_test(CROSS_COMPILER if processor.is_foreign() else "g++")
        command = (*processor.emulator, program, self.kernels(processor), vectors or self.vectors(), every)
        # Threads that wait must not keep a core from those that work: emulated, there are more of them than cores.
        environment = os.environ | {"OMP_WAIT_POLICY": "passive"}
        done = subprocess.run(
            [str(each) for each in command], env=environment, capture_output=True, text=True
        )
        return Outcome(processor, done.returncode, done.stdout + done.stderr)


def _run(*command: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | (environment or {}), capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def processors() -> tuple[Processor, ...]:
    """This one, and those for which the library that was built here has something to choose from."""
    return this_processor(), *((NEHALEM, HASWELL, SKYLAKE) if has_variants() else ()), ARM


def main() -> int:
    if compiled_library() is None:
        print("the kernels were not compiled: install a C++ compiler (apt install g++), then `make install`")
        return 1
    workshop = Workshop(ROOT / "build/emulation")
    shutil.rmtree(workshop.folder, ignore_errors=True)
    workshop.folder.mkdir(parents=True)
    line = "{:<14}  {:<15}  {:>7}  {:>11}  {:>12}  {}"
    print(line.format("processor", "instruction set", "checks", "float error", "double error", "result"))
    failed = False
    for processor in processors():
        if missing := processor.missing():
            print(line.format(processor.name, "-", "-", "-", "-", f"no {missing}: {PACKAGES}"))
            failed = True
            continue
        outcome = workshop.run(processor)
        print(line.format(*outcome.row()), flush=True)
        if outcome.problem():
            failed = True
            print(outcome.printed)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
