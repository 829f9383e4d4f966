"""semfocus doctor: what this installation has, and what is missing."""

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from semfocus.cli.json_output import print_json

REQUIRED = ("torch", "jinja2", "numpy", "polars", "pydantic", "rich", "safetensors", "scipy", "typer")


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Versions, threads, devices; what is missing, and the command that installs it. Exit code 1 if anything is."""
    import os
    import sys

    from semfocus import __version__

    found: dict[str, str] = {"semfocus": __version__, "python": sys.version.split()[0]}
    missing: dict[str, str] = {}
    for name in REQUIRED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            missing[name] = "pip install torch==2.13.0" if name == "torch" else f"pip install {name}"
    if "torch" in found:
        found |= _torch_facts()
    found["cores"] = str(os.cpu_count())
    if as_json:
        print_json({"found": found, "missing": missing})
    else:
        for name, value in found.items():
            typer.echo(f"  ok       {name:<20} {value}")
        for name, command in missing.items():
            typer.echo(f"  missing  {name:<20} {command}")
    if missing:
        raise typer.Exit(1)


def _torch_facts() -> dict[str, str]:
    import torch

    from semfocus.training.device import resolve_device

    return {
        "device (auto)": str(resolve_device("auto")),
        "cuda": torch.cuda.get_device_name(0) if torch.cuda.is_available() else "not available",
        "mps": "available" if torch.backends.mps.is_available() else "not available",
        "cpu capability": torch.backends.cpu.get_cpu_capability(),
        "threads (torch)": f"{torch.get_num_threads()} by default; semfocus uses 1 a run unless told otherwise",
        "native kernels": _kernels(),
    }


def _kernels() -> str:
    """The instruction set of the kernels, or why there are none."""
    import os

    from semfocus.mechanisms import kernels_in_use

    try:
        found = kernels_in_use()
    except (ImportError, OSError, ValueError) as error:
        return f"not usable: {error}"
    chosen = os.environ.get("SEMFOCUS_KERNELS")
    if found is not None:
        return f"{found} (top_k, bottom_k, random, banded, block_local, full; others run on PyTorch)"
    if chosen is not None:
        return f"switched off, or no file: SEMFOCUS_KERNELS={chosen}"
    return "not compiled: install a C++ compiler, then `pip install -e .` again"
