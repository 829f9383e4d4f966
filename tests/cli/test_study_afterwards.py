"""What follows the training of a study: landscapes and twins, from the recipe to the last line."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.measurements import Landscape
from semfocus.recipes import RECIPES
from tests.recipes.shrink import Tiny
from tests.strict_json import read_json

SERIAL = ("--executor", "serial")


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["study", *map(str, arguments)], env={"COLUMNS": "160"})


@pytest.fixture(autouse=True)
def _tiny_recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEMFOCUS_STORE", raising=False)
    rough = replace(RECIPES["landscape_small"], MEASURE=[Landscape(points=3, pairs=2)])
    monkeypatch.setitem(RECIPES, "landscape_small", rough)
    for name in ("landscape_small", "twins"):
        monkeypatch.setitem(RECIPES, name, Tiny(RECIPES[name], num_tasks=1, num_seeds=1))


def test_a_study_of_surfaces_ends_with_a_page_about_them_and_computes_nothing_twice() -> None:
    first = invoke("landscape_small", *SERIAL, "-q")
    assert first.exit_code == 0, first.stderr
    assert "Report: runs/landscape_small-landscapes.html" in first.stdout
    page = Path("runs/landscape_small-landscapes.html").read_text(encoding="utf-8")
    assert page.count('class="picture square"') == 3 * 2, "three arms, two pairs of directions"
    kept = {path: path.read_bytes() for path in Path("runs").glob("*/landscapes/*/*") if path.is_file()}
    assert kept

    again = invoke("landscape_small", *SERIAL, "-q", "--json")
    found = read_json(again.stdout)
    assert found["landscapes"] == "runs/landscape_small-landscapes.html"
    assert found["landscape_errors"] == []
    assert {path: path.read_bytes() for path in kept} == kept


def test_runs_that_trained_before_are_not_measured_along_and_that_is_told() -> None:
    assert invoke("twins", *SERIAL, "-q", "--no-report").exit_code == 0
    again = invoke("twins", *SERIAL, "-q", "--no-report", "--probe-every", 1)
    assert again.exit_code == 0, again.stderr
    (hint,) = [line for line in again.stdout.splitlines() if line.startswith("--probe-every")]
    assert hint.startswith("--probe-every: 4 runs had trained before and were not measured along the way")
    command = shlex.split(hint.partition("to do so: ")[2])
    done = CliRunner().invoke(app, [*command[1:], "--samples", "5"])
    assert done.exit_code == 0, done.stderr
    found = read_json(invoke("twins", *SERIAL, "-q", "--no-report", "--probe-every", 1, "--json").stdout)
    assert found["not_measured_along"] == []
    assert "--probe-every:" not in invoke("twins", *SERIAL, "-q", "--no-report", "--probe-every", 1).stdout


def test_runs_that_are_measured_while_they_train_need_no_hint() -> None:
    first = invoke("twins", *SERIAL, "-q", "--no-report", "--probe-every", 1)
    assert first.exit_code == 0, first.stderr
    assert "--probe-every:" not in first.stdout


def test_a_run_without_a_landscape_is_told_and_exits_with_3() -> None:
    found = read_json(invoke("landscape_small", *SERIAL, "-q", "--no-report", "--json").stdout)
    assert found["landscapes"] is None
    damaged = Path("runs", found["records"][0]["run"])
    for path in damaged.glob("landscapes/*/*.json"):
        path.write_text("{")
    result = invoke("landscape_small", *SERIAL, "-q", "--no-report")
    assert result.exit_code == 3
    assert "damaged" in result.stdout


def test_a_study_of_twins_ends_with_how_far_they_got() -> None:
    first = invoke("twins", *SERIAL)
    assert first.exit_code == 0, first.stderr
    assert first.stderr.count("] twins: ") == 4
    assert "one training sample replaced, medians over seeds" in first.stdout
    assert "times" in first.stdout
    again = invoke("twins", *SERIAL)
    assert "twins" not in again.stderr, "what is known is not trained again"


def test_a_plan_tells_what_follows() -> None:
    text = invoke("twins", "--dry-run").stdout
    assert "trained again beside a twin" in text
    assert "3 x 3 points, 2 pairs of directions" in invoke("landscape_small", "--dry-run").stdout
