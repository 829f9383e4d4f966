"""semfocus doctor: what this installation has, what is missing, and what it computes with."""

import os
import platform
import re
import subprocess
import sys
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

import typer

from semfocus import __version__
from semfocus.cli.output import print_json

REQUIRED = (
    *("torch", "altair", "jinja2", "numpy", "polars", "pydantic", "rich", "safetensors", "scipy", "typer"),
    "vl-convert-python",
)
#: package -> the extra that brings it
OPTIONAL = {
    "transformers": "hf",
    "ray": "ray",
    "sentencepiece": "text",
    "tensorboard": "tensorboard",
}
CPU_INFO = Path("/proc/cpuinfo")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Versions, processor, kernels, threads; what is missing, and the command that installs it.

    The last line is for bug reports. Exit code 1 if anything required is missing.
    """
    found = {name: installed for name in (*REQUIRED, *OPTIONAL) if (installed := _installed(name))}
    missing = {name: _command(name) for name in REQUIRED if name not in found}
    facts: dict[str, Any] = {
        "semfocus": __version__,
        "python": platform.python_version(),
        "system": {"name": platform.system(), "release": platform.release(), "machine": platform.machine()},
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch": _torch_facts() if "torch" in found else None,
        "kernels": _kernel_facts() if "torch" in found else None,
        "found": found,
        "missing": missing,
    }
    facts["bug_report"] = _bug_report(facts)
    if as_json:
        print_json(facts)
    else:
        typer.echo(_page(facts))
    if missing:
        raise typer.Exit(1)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _command(package: str) -> str:
    return "pip install torch==2.13.0" if package == "torch" else f"pip install {package}"


def processor() -> str:
    """The processor's name; the architecture where the system does not give one."""
    name = ""
    if sys.platform == "darwin":
        name = _output("sysctl", "-n", "machdep.cpu.brand_string")
    elif CPU_INFO.exists():
        line = re.search(
            r"^model name\s*:(.*)$", CPU_INFO.read_text(encoding="utf-8", errors="replace"), re.MULTILINE
        )
        name = line[1] if line else ""
    return " ".join((name or platform.processor() or platform.machine() or "unknown").split())


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=5).stdout
    except (OSError, subprocess.SubprocessError):
        return ""


def _torch_facts() -> dict[str, Any]:
    import torch

    from semfocus.execution.executor import usable_cores
    from semfocus.training.device import resolve_device

    return {
        "version": torch.__version__,
        "device": str(resolve_device("auto")),
        "cuda": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        "mps": torch.backends.mps.is_available(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "blas": blas(torch.__config__.show()),
        "openmp": torch.backends.openmp.is_available(),
        "threads": torch.get_num_threads(),
        "usable_cores": usable_cores(),
    }


def blas(configuration: str) -> str:
    """The library of PyTorch's matrix products, from the text of its build.

    >>> blas("  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release")
    'mkl'
    """
    found = re.search(r"BLAS_INFO=([^,\s]+)", configuration)
    return found[1].lower() if found else "unknown"


_NO_KERNELS: dict[str, Any] = {"in_use": None, "version": None, "possible": [], "openmp": None, "file": None}


def _kernel_facts() -> dict[str, Any]:
    """The kernels in use, or why there are none."""
    from semfocus.kernels.cpu.library import compiled_library, possible_instruction_sets

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of is reported below
            library = compiled_library()
    except (ImportError, OSError, ValueError) as error:
        return _NO_KERNELS | {"reason": f"not usable: {error}"}
    if library is None:
        return _NO_KERNELS | {"reason": _why_none()}
    return {
        "in_use": library.instruction_set,
        "version": library.version,
        "possible": possible_instruction_sets(library.best),
        "openmp": library.has_openmp,
        "file": str(library.path),
        "reason": None,
    }


def _why_none() -> str:
    from semfocus.kernels.cpu.library import NOT_COMPILED

    chosen = os.environ.get("SEMFOCUS_KERNELS")
    if chosen == "none":
        return "switched off by SEMFOCUS_KERNELS=none"
    if NOT_COMPILED.exists():
        failure = " ".join(NOT_COMPILED.read_text(encoding="utf-8", errors="replace").split())
        return f"not compiled when semfocus was installed: {failure}"
    return "not compiled when semfocus was installed"


def _bug_report(facts: dict[str, Any]) -> str:
    """The facts that decide most reports, in one line of ASCII characters."""
    torch, kernels, system = facts["torch"], facts["kernels"], facts["system"]
    in_use = kernels and kernels["in_use"]
    parts = [
        f"semfocus {facts['semfocus']}",
        f"python {facts['python']}",
        f"torch {torch['version']}" if torch else "no torch",
        *(f"{name} {facts['found'][name]}" for name in ("transformers", "ray") if name in facts["found"]),
        f"{system['name']} {system['machine']}",
        facts["processor"],
        f"{facts['cores']} cores",
        f"kernels {in_use} v{kernels['version']}" if in_use else "no kernels",
        *([f"{torch['cpu_capability']} {torch['blas']}", f"on {torch['device']}"] if torch else []),
    ]
    return "; ".join(parts).encode("ascii", "replace").decode()


Facts = list[tuple[str, str]]


def _page(facts: dict[str, Any]) -> str:
    """All of it, for a reader; the last line is the one for bug reports."""
    found, missing = facts["found"], facts["missing"]
    verdict = "some required packages are missing" if missing else "everything required is installed"
    sections: dict[str, Facts] = {
        "machine": _machine_lines(facts),
        "computing": [] if facts["torch"] is None else _computing_lines(facts["torch"], facts["kernels"]),
        "required": [
            ("python", facts["python"]),
            *((name, found[name]) for name in REQUIRED if name in found),
        ],
        "missing": list(missing.items()),
        "optional": [
            (name, found.get(name, f"not installed; pip install 'semfocus[{extra}]'"))
            for name, extra in OPTIONAL.items()
        ],
    }
    blocks = [
        "\n".join([title, *(f"  {name:<14} {value}".rstrip() for name, value in lines)])
        for title, lines in sections.items()
        if lines
    ]
    heading = f"semfocus {facts['semfocus']}: {verdict}"
    return "\n\n".join([heading, *blocks, f"for a bug report: {facts['bug_report']}"])


def _machine_lines(facts: dict[str, Any]) -> Facts:
    system = facts["system"]
    return [
        ("system", f"{system['name']} {system['release']}, {system['machine']}"),
        ("processor", facts["processor"]),
        ("cores", str(facts["cores"])),
    ]


def _computing_lines(torch: dict[str, Any], kernels: dict[str, Any]) -> Facts:
    gpu = torch["cuda"] or ("Apple's (MPS)" if torch["mps"] else "none that PyTorch can use")
    openmp = "with OpenMP" if torch["openmp"] else "without OpenMP"
    return [
        ("device", f"{torch['device']} unless --device names another"),
        ("GPU", gpu),
        *(_kernel_lines(kernels) if kernels["in_use"] else _lines_without_kernels(kernels["reason"])),
        ("PyTorch", f"{torch['cpu_capability']} instructions, BLAS: {torch['blas']}, {openmp}"),
        ("threads", f"1 per run, {torch['usable_cores']} runs at a time by default"),
        ("", f"in a script of yours: {torch['threads']}, as PyTorch chooses"),
    ]


def _kernel_lines(kernels: dict[str, Any]) -> Facts:
    openmp = "with OpenMP" if kernels["openmp"] else "without OpenMP (one thread)"
    return [
        ("kernels", f"{kernels['in_use']} instructions, version {kernels['version']}, {openmp}"),
        ("", f"possible here: {', '.join(kernels['possible'])} (SEMFOCUS_INSTRUCTION_SET chooses)"),
        ("", "for full, top_k, bottom_k, random, banded, block_local; other patterns run on PyTorch"),
    ]


def _lines_without_kernels(reason: str) -> Facts:
    lines = [("kernels", "none: everything runs on PyTorch, which is slower"), ("", reason)]
    if "not compiled" in reason:
        lines += [
            ("", "to compile them, install a C++ compiler (g++ or clang++), then semfocus again:"),
            ("", "pip install --force-reinstall --no-deps --no-cache-dir SOURCE  (an sdist or a clone)"),
        ]
    return lines
