"""semfocus landscape: numbers, JSON, the page, and errors in one line."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.runs import Store
from semfocus.training import run
from tests.report.pages import charts_of

SMALL = ["--points", "3", "--executor", "serial", "--device", "cpu", "-q"]


def landscape(store: Store, *words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["landscape", "--store", str(store.path), *words])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def two_runs(store: Store, tiny_spec) -> list[str]:
    specs = [tiny_spec(pattern=pattern) for pattern in ("full", "top_k(3)")]
    for spec in specs:
        run(spec, store, device="cpu")
    return [spec.digest for spec in specs]


def test_two_runs_side_by_side(store: Store, two_runs: list[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, said, errors = landscape(store, *two_runs, *SMALL, "--hessian", "1", "--page", str(page))
    assert code == 0, errors
    assert said.count("the model's own, evaluated apart, is equal to the last bit") == 2
    assert said.count("largest eigenvalues") == 2
    assert "Lipschitz estimates" in said
    assert said.count("training accuracy") == 2
    assert sum("low" in chart.rows[0] for chart in charts_of(page.read_text(encoding="utf-8"))) == 2
    assert "semfocus landscape" in page.read_text(encoding="utf-8")
    code, said, _ = landscape(store, *two_runs, *SMALL, "--hessian", "1", "--json")
    first, second = json.loads(said)
    assert [first["pattern"], second["pattern"]] == ["full", "top_k(3)"]
    assert first["grids"][0]["losses"][1][1] == first["model_loss"] == first["recorded_loss"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--points", "40"], "points: the number of points a side must be odd"),
        (["--samples", "0"], "samples must be from 1 to 60"),
        (["--scaling", "layer"], "scaling"),
        (["--data", "test"], "data"),
        (["--radius", "-1"], "radius"),
        (["--epoch", "first"], "epoch must be a number, last, best"),
        (["--executor", "cluster"], "executor must be serial, pool or ray"),
        (["--page", "x.png"], "--page must end in .html or .svg, got 'x.png'"),
        (
            ["--page", "x.svg", "--pairs", "0", "--hessian", "1"],
            "maps need a grid: --pairs must be at least 1",
        ),
        (["--pairs", "0"], "pairs must be at least 1 without a Hessian"),
    ],
)
def test_bad_options_are_one_line(store: Store, two_runs: list[str], words: list[str], message: str) -> None:
    code, _, errors = landscape(store, two_runs[0], *SMALL, *words)
    assert (code, errors.count("\n")) == (2, 1)
    assert message in errors


def test_an_unknown_run_is_one_line(store: Store) -> None:
    code, _, errors = landscape(store, "nothing", *SMALL)
    assert (code, errors.count("\n")) == (2, 1)
    assert "no run is called 'nothing'" in errors


@pytest.mark.slow
def test_ctrl_c_says_that_the_same_command_continues(store: Store, two_runs: list[str]) -> None:
    words = ["landscape", two_runs[0], "--store", str(store.path), "--points", "201", "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "semfocus", *words], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        patient_until = time.monotonic() + 300
        while not list(store.path.glob("*/landscapes/*/values.jsonl")):
            assert process.poll() is None
            assert time.monotonic() < patient_until
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.endswith("error: interrupted; rerun the command to resume\n")


def test_a_page_of_maps_alone(store: Store, two_runs: list[str], tmp_path: Path) -> None:
    code, _, errors = landscape(store, *two_runs, *SMALL, "--page", str(tmp_path / "new" / "maps.SVG"))
    assert code == 0, errors
    assert (tmp_path / "new" / "maps.SVG").read_text(encoding="utf-8").count(
        ">x, along direction 1</text>"
    ) == 2
