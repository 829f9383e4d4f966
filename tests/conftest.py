"""Shared fixtures: tiny specs that train in a fraction of a second."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import torch

from semfocus.runs import RunSpec, Store, open_store
from semfocus.studies import run_study
from semfocus.training import run

#: programs for another version of semfocus
collect_ignore = ["fixtures"]

#: threads per run, unless a test asks for a number: see portable.py
THREADS = int(os.environ.get("SEMFOCUS_TEST_THREADS", "1"))

# Of whoever runs the tests: the terminal, how Typer and Rich should write to it, the store, the cluster.
for _name in (
    *("COLUMNS", "LINES", "TERMINAL_WIDTH", "FORCE_COLOR", "NO_COLOR", "PY_COLORS", "GITHUB_ACTIONS"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "SEMFOCUS_STORE", "RAY_ADDRESS"),
):
    os.environ.pop(_name, None)

# A job in the background of a script ignores Ctrl-C, and so would every process that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The same examples on every machine, and none of them timed; other ones: pytest --hypothesis-profile default
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(autouse=True, scope="session")
def _threads() -> None:
    """Tests run side by side; a thread each keeps them from slowing one another."""
    torch.set_num_threads(THREADS)
    for function in (run, run_study):
        assert function.__kwdefaults__ is not None
        function.__kwdefaults__["threads"] = THREADS


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-golden", action="store_true", help="rewrite the texts of tests/golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): the text is that of tests/golden/name.txt; with --write-golden it becomes that."""

    def check(name: str, text: str) -> None:
        place = Path(__file__).parent / "golden" / f"{name}.txt"
        lines = [line.rstrip() for line in text.splitlines()]
        if request.config.getoption("--write-golden"):
            place.write_text("\n".join(lines) + "\n", encoding="utf-8")
        expected = place.read_text(encoding="utf-8").splitlines()
        assert lines == expected, (
            f"review the words, then: pytest tests/test_golden.py --write-golden ({name})"
        )

    return check


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "runs")


@pytest.fixture
def tiny_spec() -> Callable[..., RunSpec]:
    """tiny_spec(pattern=..., model={...}, training={...}): changes to a spec that trains at once."""

    def build(**changes: Any) -> RunSpec:
        model = {"d_model": 8, "d_mlp": 8, "num_blocks": 1} | changes.pop("model", {})
        training = {"length": 6, "num_train": 60, "num_held_out": 30, "epochs": 4, "batch_size": 10}
        training |= changes.pop("training", {})
        return RunSpec(
            **({"task": "even_pairs", "pattern": "top_k(3)"} | changes), model=model, training=training
        )

    return build
