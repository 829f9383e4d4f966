import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from semfocus import __version__
from semfocus.cli import doctor
from semfocus.cli.app import app
from semfocus.kernels.cpu import library
from semfocus.runs import open_store
from tests.strict_json import read_json

LIBRARY = "semfocus.kernels.cpu.library"
X86 = "processor\t: 0\nmodel name\t: A  Fast CPU @ 3GHz\nflags\t: avx2\n"
ARM = "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\n"


def facts_and_page() -> tuple[dict[str, Any], str]:
    as_json, page = (CliRunner().invoke(app, ["doctor", *options]) for options in (["--json"], []))
    assert as_json.exit_code == page.exit_code
    return read_json(as_json.stdout) | {"exit_code": page.exit_code}, page.stdout


def test_a_healthy_installation() -> None:
    facts, page = facts_and_page()
    assert (facts["exit_code"], facts["missing"]) == (0, {})
    last = page.splitlines()[-1]
    assert last == f"for a bug report: {facts['bug_report']}"
    assert last.isascii()
    for part in (f"semfocus {__version__}", f"torch {facts['torch']['version']}", facts["torch"]["blas"]):
        assert part in last
    assert facts["processor"].split()
    assert all(name in page for name in (*doctor.REQUIRED, *doctor.OPTIONAL))


@pytest.mark.skipif(library.compiled_library() is None, reason="no compiled kernels")
def test_the_kernels_in_use_and_those_possible() -> None:
    facts, page = facts_and_page()
    used = library.compiled_library()
    assert used is not None
    assert facts["kernels"]["in_use"] == used.instruction_set
    assert facts["kernels"]["possible"][0] == "portable"
    assert facts["kernels"]["possible"][-1] == used.best
    assert f"kernels {used.instruction_set} v{used.version}" in facts["bug_report"]
    assert f"possible here: {', '.join(facts['kernels']['possible'])}" in page


def test_what_is_missing_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "REQUIRED", ("torch", "no-such-package"))
    facts, page = facts_and_page()
    assert facts["exit_code"] == 1
    assert facts["missing"] == {"no-such-package": "pip install no-such-package"}
    assert "pip install no-such-package" in page


def test_it_works_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name == "torch" else "1.0")
    monkeypatch.setitem(sys.modules, "torch", None)  # an import of it fails
    facts, page = facts_and_page()
    assert facts["exit_code"] == 1
    assert "pip install torch==2.13.0" in page
    assert "; no torch;" in facts["bug_report"]


def test_kernels_that_did_not_compile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SEMFOCUS_KERNELS", raising=False)
    monkeypatch.setattr(f"{LIBRARY}.compiled_library", lambda: None)
    monkeypatch.setattr(f"{LIBRARY}.NOT_COMPILED", tmp_path / "note.txt")
    assert facts_and_page()[0]["kernels"]["reason"] == "not compiled when semfocus was installed"
    (tmp_path / "note.txt").write_text("command 'g++' failed: No such file\n")
    facts, page = facts_and_page()
    assert facts["exit_code"] == 0
    assert "command 'g++' failed: No such file" in page
    assert "install a C++ compiler" in page
    assert "; no kernels;" in facts["bug_report"]


def test_kernels_that_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMFOCUS_KERNELS", "none")
    monkeypatch.setattr(f"{LIBRARY}.compiled_library", lambda: None)
    page = facts_and_page()[1]
    assert "switched off by SEMFOCUS_KERNELS=none" in page
    assert "install a C++ compiler" not in page


def test_kernels_that_do_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(f"{LIBRARY}.compiled_library", refuse)
    assert "not usable: libgomp.so.1: cannot open shared object file" in facts_and_page()[1]


def test_the_processors_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(doctor, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.processor", lambda: "")
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert doctor.processor() == "aarch64"  # no such file
    (tmp_path / "cpuinfo").write_text(ARM)
    assert doctor.processor() == "aarch64"
    (tmp_path / "cpuinfo").write_text(X86)
    assert doctor.processor() == "A Fast CPU @ 3GHz"


def test_the_processors_name_on_a_mac(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platform.processor", lambda: "arm")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert doctor.processor() == "arm"  # no sysctl
    (tmp_path / "sysctl").write_text('#!/bin/sh\n[ "$*" = "-n machdep.cpu.brand_string" ] && echo Apple M9\n')
    (tmp_path / "sysctl").chmod(0o755)
    assert doctor.processor() == "Apple M9"


def test_it_knows_the_packages_of_pyproject() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    names = {each.split(">")[0] for each in project["dependencies"]}
    assert set(doctor.REQUIRED) == names
    extras = {
        extra: packages for extra, packages in project["optional-dependencies"].items() if extra != "dev"
    }
    assert {extra: name for name, extra in doctor.OPTIONAL.items()} == {
        extra: packages[0].split(">")[0] for extra, packages in extras.items() if packages
    }


def test_missing_kernels_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEMFOCUS_KERNELS", raising=False)
    monkeypatch.setattr(library, "EXTENSION_SUFFIXES", [])
    with pytest.warns(UserWarning, match="no compiled kernels here.*semfocus doctor"):
        assert library.compiled_library.__wrapped__() is None


STUDY = """
import sys
from semfocus.kernels.cpu import library

library.EXTENSION_SUFFIXES = []  # as where nothing was compiled
from semfocus.cli import main

sys.argv = ["semfocus", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_a_study_without_kernels_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its driver; the workers compute without them as well, and are silent."""
    monkeypatch.delenv("SEMFOCUS_KERNELS", raising=False)
    arguments = (
        "study quick --seeds 1 --workers 1 --no-report -q -s training.epochs=1 -s training.num_train=40"
    )
    patterns = ["--patterns", "full; top_k(5)", "--store", str(tmp_path)]
    command = [sys.executable, "-c", STUDY, *arguments.split(), *patterns]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stderr.count("no compiled kernels here") == 1
    assert ended.stderr.count("note: ") == 1
    records = open_store(tmp_path).records()
    assert {record["environment"]["numerics"]["kernels"] for record in records} == {"none"}
