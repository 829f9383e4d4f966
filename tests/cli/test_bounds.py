"""semfocus bounds: the published table, given numbers, stored probes and the drawing."""

import html
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from typer.testing import CliRunner

from semfocus.cli.app import app
from semfocus.report.bounds_rows import comparison_of_rows
from semfocus.report.bounds_text import published_columns
from semfocus.report.figures.regions import marks_of_table, region_frame
from semfocus.runs import RunDirectory
from semfocus.theory import compare_numbers, lhs_w
from tests.report.pages import charts_of
from tests.strict_json import read_json

NUMBERS = {
    "--dispersion-full": "8.61",
    "--dispersion-topk": "3.51",
    "--separation": "0.016",
    "--beta": "0.2",
    "--k": "5",
    "--length": "600",
}
#: from the vectors, by task and quantile
TABLE = {
    vector["what"].removeprefix("lhs table "): vector
    for vector in json.loads(
        (Path(__file__).parents[1] / "theory" / "vectors.json").read_text(encoding="utf-8")
    )
    if vector["id"] == "T23"
}
NAMES = {
    "ListOps": "listops",
    "Parity": "parity",
    "EvenPairs": "even_pairs",
    "MissingDup": "missing_duplicate",
}


def invoke(*arguments: object):
    return CliRunner().invoke(app, ["bounds", *map(str, arguments)])


def given(**changes: str | None) -> list[str]:
    merged = NUMBERS | {f"--{name.replace('_', '-')}": value for name, value in changes.items()}
    return [each for name, value in merged.items() if value is not None for each in (name, value)]


def test_the_32_left_hand_sides_to_six_digits() -> None:
    result = invoke("--paper-table")
    assert result.exit_code == 0, result.output
    lines = result.output.splitlines()
    seen = 0
    for title, vector in TABLE.items():
        own = [line for line in lines if line.startswith(NAMES[title])]
        assert len(own) == 4
        for line, w, x in zip(own, vector["expected"]["W"], vector["expected"]["X"], strict=True):
            assert f"{w:.6f}" in line
            assert f"{x:.6f}" in line
            seen += 2
    assert seen == 32
    assert "8 of 16" in result.output


def test_the_table_for_scripts() -> None:
    found = read_json(invoke("--paper-table", "--json").stdout)["paper_table"]
    assert found["counts"] == {"published_w": 8, "published_x": 8, "maxform": 13, "route_a": 1, "route_b": 0}
    assert len(found["cells"]) == 16
    first = found["cells"][0]
    assert first["exact"]["route_a"] == pytest.approx([125, 300])
    nulls = {each["quantile"]: each["null_c1"] for each in found["cells"] if each["task"] == "parity"}
    assert [nulls[each] for each in (75, 90, 95)] == pytest.approx([0.257, 0.299, 0.325], abs=0.008)
    assert first["null_c1"] == pytest.approx(0.129, abs=0.004)


def test_given_numbers_are_printed_beside_those_of_noise() -> None:
    result = invoke(*given())
    assert result.exit_code == 0, result.output
    assert "0.970289" in result.output
    assert "0.898233" in result.output
    assert "-4.406853" in result.output
    assert "0.099 at 50 %, 0.13" in result.output
    assert "at 75 %, 0." in result.output
    assert "at 100 %)" in result.output
    assert "key load of 0.2" in result.output


#: numbers by a name: how they differ from those of `given`, and whether W, X, the max-form and the exact condition hold
JUDGED: dict[str, tuple[dict[str, str | None], tuple[bool | None, ...]]] = {
    "holds as published": ({}, (True, True, True, False)),
    "does not hold": (
        {"dispersion_full": "2.03", "dispersion_topk": "1.03", "separation": "0.009", "length": "40"},
        (False, False, False, False),
    ),
    "holds as max-form": (
        {"dispersion_full": "9.44", "dispersion_topk": "5.5", "separation": "0.002", "beta": "5.2"},
        (False, False, True, False),
    ),
    "holds exactly": (
        {"dispersion_full": "0.05", "dispersion_topk": "0.01", "separation": "9", "k": "3", "length": "40", "beta": None},
        (False, None, False, True),
    ),
    "holds for W, and exactly": ({"separation": "9", "k": "1", "beta": None}, (True, None, True, True)),
    "is infinite": ({"separation": "0", "beta": "2"}, (False, False, False, False)),
    "holds for W only": (
        {"dispersion_full": "3", "dispersion_topk": "1.5", "separation": "1", "beta": "40"},
        (True, False, True, False),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JUDGED)
def test_every_verdict_on_given_numbers(name: str) -> None:
    """In words: tests/golden/bounds.txt."""
    changes, expected = JUDGED[name]
    found = compared(**changes)
    published, exact = found["published"], found["exact"]
    assert (published["w"], published["x"], found["maxform"]["w"], exact["b"]) == expected
    assert all(line in invoke(*given(**changes)).output for line in found["words"])


def compared(**changes: str | None) -> dict[str, Any]:
    return read_json(invoke(*given(**changes), "--json").stdout)["comparison"]


def test_numbers_for_scripts() -> None:
    found = compared(separation="0")
    assert found["published"] == {"lhs_w": None, "w": False, "lhs_x": None, "x": False}, "infinite is null"
    assert found["words"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --paper-table"),
        (["--dispersion-full", "3"], "also needs --dispersion-topk, --separation, --k, --length"),
        (given(dispersion_full="0"), "--dispersion-full must be greater than 0, got 0"),
        (given(dispersion_full="nan"), "--dispersion-full must be greater than 0, got nan"),
        (given(dispersion_topk="-1"), "--dispersion-topk must be at least 0, got -1"),
        (given(separation="nan"), "--separation must be at least 0"),
        (given(separation="-1"), "--separation must be at least 0"),
        (given(beta="-1"), "--beta must be at least 0, got -1"),
        (given(k="0"), "--k must be at least 1, got 0"),
        (given(length="0"), "--length must be at least 1, got 0"),
        (["--regions", "regions.png"], "--regions must end in .svg or .html, got 'regions.png'"),
        (["a", "b", "c"], "one or two runs can be compared, got 3"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_the_regions_are_drawn(tmp_path: Path) -> None:
    drawing, page = tmp_path / "new" / "regions.svg", tmp_path / "regions.html"
    assert invoke("--regions", drawing).exit_code == 0
    root = ElementTree.fromstring(drawing.read_text(encoding="utf-8"))
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 40
    published = [mark.w for mark in marks_of_table(published_columns())]
    frame = region_frame(marks_of_table(published_columns()))
    marks = frame.filter(pl.col("kind").is_not_null())
    assert len(marks) == 2 * 16
    assert (marks["holds"] == "holds").sum() == 16, "8 cells in each of two panels"
    assert sum(map(bool, published)) == (marks["holds"][:16] == "holds").sum()
    assert "0 of these 16" in drawing.read_text(encoding="utf-8")
    assert "these numbers" not in drawing.read_text(encoding="utf-8")

    result = invoke(*given(), "--regions", page)
    assert str(page) in result.output.replace("\n", "")
    text = page.read_text(encoding="utf-8")
    assert "these numbers" in {row.get("kind") for chart in charts_of(text) for row in chart.rows}
    assert compared()["words"][0] in html.unescape(text).replace("\xa0", " ")
    assert "default-src 'none'" in text, "needs no network"


def row(quantity: str, low: float | None, high: float | None, **changes: Any) -> dict[str, Any]:
    """A probe row whose quantiles go evenly from low to high."""
    points = (0, 5, 10, 25, 50, 75, 90, 95, 100)
    values = {str(q): None if low is None else low + (high - low) * q / 100 for q in points}
    return {
        "quantity": quantity, "layer": 0, "head": 0, "pattern": "full", "counterfactual": False, "num": 9,
        "num_infinite": 0, "num_missing": 0, "mean": 1.0, "quantiles": values, "null": None, "epoch": 7,
        "data": "held_out", "samples": 3,
    } | changes  # fmt: skip


def rows_of(pattern: str, **changes: Any) -> list[dict[str, Any]]:
    found = []
    for layer, factor in ((0, 1.0), (1, 2.0)):
        common = {"layer": layer, "pattern": pattern} | changes
        if pattern == "full":
            found.append(row("dispersion", 1.0, 10.0 * factor, **common))
        else:
            found += [
                row("dispersion", 0.5, 4.0 * factor, **common),
                row("separation", 0.01 / factor, 1.0, **common),
                row("key_load", 0.0, 3.0 * factor, **common),
            ]
    return found


def test_rows_are_compared_by_layer_and_over_all_of_them() -> None:
    everything, first, second = comparison_of_rows(rows_of("full"), rows_of("top_k(5)"), 5, 40)
    assert (everything["layer"], everything["head"]) == (None, None)
    (worst,) = everything["columns"]
    expected = compare_numbers(20.0, 8.0, 0.005, 6.0, 5, 40)
    assert {name: worst[name] for name in expected} == expected
    assert (first["layer"], second["layer"]) == (0, 1)
    assert [column["quantile"] for column in first["columns"]] == [50, 75, 90, 95, 100]
    at_75 = first["columns"][1]
    assert at_75["dispersion_full"] == pytest.approx(7.75)
    assert at_75["separation"] == pytest.approx(0.2575), (
        "the quarter with the smallest separations is left out"
    )
    assert at_75["published"]["lhs_w"] == pytest.approx(lhs_w(7.75, 3.125, 0.2575))


def test_rows_that_cannot_be_compared_say_why() -> None:
    flat = [row("dispersion", 0.0, 0.0), row("dispersion", 1.0, 2.0, layer=1)]
    _, first, second = comparison_of_rows(flat, rows_of("top_k(5)"), 5, 40)
    assert first["problem"] == "the dispersion of full attention must be greater than 0, got 0"
    assert second["columns"]
    missing = [row("dispersion", None, None, num=0, num_missing=9)]
    assert comparison_of_rows(missing, rows_of("top_k(5)"), 5, 40)[0]["problem"] == (
        "the dispersion of full attention must not be NaN"
    )
    everything = [
        row("dispersion", 1.0, 2.0),
        row("separation", None, None, num=0, num_infinite=9),
        row("key_load", 1.0, 1.0),
    ]
    found = comparison_of_rows([row("dispersion", 1.0, 2.0)], everything, 40, 40)[0]
    assert math.isinf(found["columns"][-1]["separation"]), "nothing is masked"
    with pytest.raises(ValueError, match="no layer and head in common"):
        comparison_of_rows([row("dispersion", 1, 2, layer=9)], rows_of("top_k(5)"), 5, 40)
    with pytest.raises(ValueError, match="top-k side need dispersion, separation, key_load"):
        comparison_of_rows(rows_of("full"), [row("dispersion", 1, 2)], 5, 40)


@pytest.fixture
def probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[dict[str, Any]]]:
    """A store with three runs; what their probes are can be changed."""
    monkeypatch.chdir(tmp_path)
    for name, pattern, task in (
        ("aaa", "full", "parity"),
        ("bbb", "top_k(5)", "parity"),
        ("ccc", "banded(5)", "parity"),
        ("ddd", "top_k(5)", "even_pairs"),
        ("eee", "full+G1", "parity"),
        ("fff", "top_k(5)+G1", "parity"),
    ):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        spec = {"task": task, "pattern": pattern, "training": {"length": [30, 40]}}
        (folder / "spec.json").write_text(json.dumps(spec))
    stored = {
        "aaa": [
            *rows_of("full"),
            *rows_of("full", epoch=2),
            *rows_of("full", data="train"),
            *rows_of("top_k(9)", counterfactual=True),
        ],
        "bbb": rows_of("top_k(5)", epoch=9),
        "ccc": rows_of("banded(5)"),
        "ddd": rows_of("top_k(5)"),
        "eee": rows_of("full"),
        "fff": rows_of("top_k(5)+G1"),
    }
    monkeypatch.setattr(RunDirectory, "kept", lambda self, name: stored[self.name])
    return stored


def test_two_probed_runs(probed: dict[str, list]) -> None:
    result = invoke("aaa", "bbb")
    assert result.exit_code == 0, result.output
    title = "aaa against bbb: full against top_k(5), held_out data, epochs 7 and 9, 3 sequences"
    assert result.output.splitlines()[0] == title
    assert "all layers, over all queries" in result.output
    assert "layer 1, over all queries" in result.output
    assert "layer 2, over all queries" in result.output, "layers count from 1, as on pages"
    assert "The published condition" in result.output
    found = read_json(invoke("aaa", "bbb", "--json").stdout)["runs"]
    assert found["epochs"] == [7, 9]
    assert found["places"][0]["k"] == 5
    assert found["places"][0]["length"] == 40


def largest(answer: dict[str, Any]) -> tuple[float, float]:
    """Dispersion of full and of top-k over all queries and layers."""
    worst = answer["places"][0]["columns"][-1]
    return worst["dispersion_full"], worst["dispersion_topk"]


def test_each_side_is_one_measurement_the_largest(probed: dict[str, list]) -> None:
    """Few sequences that were measured later do not mix with many, nor do quantities along training."""
    few = [row("dispersion", 1.0, 2.0, layer=layer, samples=1) for layer in (0, 1)]
    along = [row("dispersion", 1.0, 3.0, samples=64, epoch=99, quantities="along:abc")]
    probed["aaa"] += [*few, *along]
    probed["bbb"] += [{**each, "pattern": "top_k(5)"} for each in along]
    found = read_json(invoke("aaa", "bbb", "--json").stdout)["runs"]
    assert largest(found) == (20.0, 8.0)
    assert (found["samples"], found["epochs"]) == ([3, 3], [7, 9])
    probed["bbb"] += rows_of("top_k(5)", epoch=9, samples=8)
    result = invoke("aaa", "bbb")
    assert "3 and 8 sequences\nnote: extremes over more sequences are farther out" in result.output
    probed["aaa"] += [
        each
        | {"quantiles": {q: value + 1 for q, value in each["quantiles"].items()}, "quantities": "all:new"}
        for each in rows_of("full")
    ]
    found = read_json(invoke("aaa", "bbb", "--json").stdout)["runs"]
    assert largest(found)[0] == 21.0, "of two as large the later one"
    twice = [*rows_of("full"), *rows_of("full")]
    with pytest.raises(ValueError, match="the full side has dispersion twice"):
        comparison_of_rows(twice, rows_of("top_k(5)"), 5, 40)


def test_local_constants_are_said_to_be_of_sampled_queries(probed: dict[str, list]) -> None:
    for name, pattern, high in (("aaa", "full", 2.0), ("bbb", "top_k(5)", 3.0)):
        epoch = probed[name][0]["epoch"]
        local = {"pattern": pattern, "epoch": epoch}
        probed[name] += [row("lambda_w_local", 0.1, high, layer=layer, **local) for layer in (0, 1)]
    result = invoke("aaa", "bbb")
    assert "at sampled queries only" in result.output
    assert "  sampled    W  top-k 3" in result.output
    assert "local  " not in result.output


def test_an_epoch_can_be_chosen(probed: dict[str, list]) -> None:
    probed["bbb"] += rows_of("top_k(5)", epoch=2)
    assert read_json(invoke("aaa", "bbb", "--epoch", 2, "--json").stdout)["runs"]["epochs"] == [2, 2]
    assert "after epoch 2, 9, not after 7" in invoke("aaa", "bbb", "--epoch", 7).output


def test_global_tokens_are_keys(probed: dict[str, list]) -> None:
    place = read_json(invoke("eee", "fff", "--json").stdout)["runs"]["places"][0]
    assert (place["k"], place["length"]) == (6, 41)


def test_one_run_with_top_k_applied_to_its_scores(probed: dict[str, list]) -> None:
    found = read_json(invoke("aaa", "--json").stdout)["runs"]
    assert found["pattern"] == "top_k(9)"
    assert found["places"][0]["k"] == 9
    assert "got none with k = 5" in invoke("aaa", "--k", "5").output
    probed["aaa"] += rows_of("top_k(5)", counterfactual=True)
    assert "several: top_k(5), top_k(9) (choose with --k)" in invoke("aaa").output
    assert read_json(invoke("aaa", "--k", "5", "--json").stdout)["runs"]["places"][0]["k"] == 5


def test_what_is_wrong_with_runs_is_said(probed: dict[str, list]) -> None:
    for arguments, message in (
        (["aaa", "ccc"], "the second side must be top_k(K), got banded(5)"),
        (["bbb", "bbb"], "the first run must have full attention, got top_k(5)"),
        (["aaa", "bbb", "--data", "train"], "run bbb has probes of held_out data, not of 'train'"),
        (["aaa", "zzz"], "no run is called 'zzz'"),
        (["aaa", "bbb", "--k", "3"], "the second run has top_k(5), not k = 3"),
        (
            ["aaa", "ddd"],
            "got parity of length [30, 40]",
        ),
        (["aaa", "fff"], "[30, 40] with 1 global tokens"),
        (["aaa", "bbb", "--dispersion-full", "3"], "leave out --dispersion-full"),
        (["aaa", "bbb", "--length", "3"], "leave out --length"),
        (["aaa", "bbb", "--store", "nothing"], "there is no store at nothing"),
    ):
        result = invoke(*arguments)
        assert result.exit_code == 2, result.output
        assert message in result.output
    probed["bbb"].clear()
    assert "run bbb has no probes: run `semfocus probe bbb` first" in invoke("aaa", "bbb").output


def test_bounds_do_not_wait_for_torch() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from semfocus.cli.app import app; "
        "assert CliRunner().invoke(app, ['bounds', '--paper-table']).exit_code == 0; "
        "assert 'torch' not in sys.modules and 'scipy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
