"""The page about landscapes: self-contained, one scale for all, nothing hidden that is not finite, nothing a
user named is markup.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from semfocus.measurements.landscape.place import grid_axis
from semfocus.measurements.landscape.surface import Grid
from semfocus.measurements.landscape.surface import Surface as Landscape
from semfocus.report.figures.loss_maps import levels_of, run_names, surface_frame
from semfocus.report.pages.landscape_page import landscape_page, write_landscape_maps
from tests.report.pages import Page, charts_of


def made_up(pattern: str = "full", steep: float = 1.0, points: int = 9, **changes: Any) -> Landscape:
    axis = grid_axis(points, 1.0)
    x, y = np.meshgrid(axis, axis)
    grids = [Grid(pair, axis, 0.01 + steep * (x**2 + (pair + 1) * y**2), (4.0, 5.0), 1) for pair in range(2)]
    values: dict[str, Any] = {
        "run": "0123456789abcdef",
        "run_spec": {"task": "parity", "pattern": pattern, "seed": 1, "model": {"inverse_temperature": 1.0}},
        "spec": {"points": points, "radius": 1.0, "scaling": "tensor", "data": "train", "samples": 10},
        "epoch": 3,
        "own_loss": 0.01,
        "recorded_loss": None,
        "grids": grids,
        "eigenvalues": {
            "largest": [12.5], "largest_residuals": [0.1], "smallest": [-1.5], "smallest_residuals": [0.2], "products": 7,
        },
    }  # fmt: skip
    return Landscape(**(values | changes))


def test_the_page_is_whole_and_needs_nothing_but_itself() -> None:
    text = landscape_page([made_up("top_k(5)", 0.5), made_up("full")])
    page = Page(text)
    assert page.problems == []
    addresses = [value for _, name, value in page.values if name in ("src", "href", "xlink:href")]
    assert all(address.startswith("#") for address in addresses)
    charts = charts_of(text)
    maps = [chart for chart in charts if "low" in chart.rows[0]]
    assert [chart.title for chart in maps] == 2 * ["full", "top_k(5)"]
    assert len(charts) == 4 + 1 + 8, "maps, cuts, slopes of four quantiles in two units"
    assert "12.5 ± 0.1" in page.text


def test_a_centre_that_is_not_the_models_loss_is_said() -> None:
    assert "own, 0.02" in Page(landscape_page([made_up(own_loss=0.02)])).text
    assert "own, 0.0" not in Page(landscape_page([made_up()])).text


def test_a_model_that_is_in_no_basin_is_named_before_its_map() -> None:
    learned = Page(landscape_page([made_up(train_accuracy=1.0)], "semfocus landscape 0123")).text
    assert "100 %" in learned
    assert "semfocus landscape 0123" in learned
    landscape = made_up(train_accuracy=0.6)
    landscape.grids[1].losses[4, 6] = 0.004
    text = Page(landscape_page([landscape])).text
    before, _, after = text.partition("The loss on the plane")
    assert after
    assert "60 %" in before
    assert "(0.5, 0) of pair 2" in before
    assert "0.006" in before


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_maps_alone_are_a_file(kind: str, tmp_path: Path) -> None:
    found = [made_up(epoch=3), made_up(epoch=40, train_accuracy=0.5)]
    (tmp_path / "new").mkdir()
    path = write_landscape_maps(found, tmp_path / "new" / f"maps.{kind}")
    assert path.stat().st_size > 5000
    if kind == "svg":
        text = path.read_text(encoding="utf-8")
        assert text.count(">full</text>") == 4
        assert ">epoch 3, pair 1 of directions</text>" in text
        assert ">epoch 40, training accuracy 50 %, pair 2 of directions</text>" in text


def test_maps_without_a_grid_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--pairs must be at least 1"):
        write_landscape_maps([replace(made_up(), grids=[])], tmp_path / "maps.svg")


def test_links_lead_to_sections() -> None:
    page = Page(landscape_page([made_up()]))
    ids = {value for _, name, value in page.values if name == "id"}
    links = {value[1:] for tag, name, value in page.values if (tag, name) == ("a", "href")}
    assert {"maps", "steepness", "numbers"} <= links <= ids


def test_all_surfaces_share_one_scale() -> None:
    levels, is_log = levels_of([made_up("full", 100.0), made_up("top_k(5)", 0.1)])
    assert (levels[0], levels[-1], is_log) == (pytest.approx(0.01), pytest.approx(300.01), True)
    assert not levels_of([made_up("full", 0.03)])[1], "0.01 to 0.1 is no decade"


def test_losses_that_are_not_finite_are_grey_and_counted() -> None:
    landscape = made_up()
    landscape.grids[0].losses[0, :3] = math.inf
    landscape.grids[0].losses[8, 8] = math.nan
    text = landscape_page([landscape])
    assert "4 points" in Page(text).text
    grey = [row for chart in charts_of(text) for row in chart.rows if row.get("loss", 0) is None]
    assert [(row["x"], row["x2"]) for row in grey] == [(-1.125, -0.375), (0.875, 1.125)]
    assert "without a finite loss" not in Page(landscape_page([made_up()])).text


def test_a_map_covers_every_point_once_between_its_levels() -> None:
    landscape = made_up()
    frame = surface_frame([landscape]).filter(pl.col("pair") == 1)
    grid = landscape.grids[0]
    for y, losses in zip(grid.axis, grid.losses, strict=True):
        for x, loss in zip(grid.axis, losses, strict=True):
            (cell,) = [
                row
                for row in frame.iter_rows(named=True)
                if row["x"] < x < row["x2"] and row["y"] < y < row["y2"]
            ]
            assert cell["low"] - 1e-9 <= loss <= cell["high"] + 1e-9


def test_a_landscape_of_the_hessian_alone() -> None:
    text = landscape_page([made_up(grids=[], spec={"data": "train", "samples": 10})])
    assert Page(text).problems == []
    assert "How curved is the loss" in text
    assert "wide basin" not in text


def test_names_of_users_are_text() -> None:
    hostile = '</script><b onclick="x">&\u202e'
    spec = {"task": hostile, "pattern": hostile, "seed": 1, "model": {"inverse_temperature": 1.0}}
    page = Page(landscape_page([made_up(run_spec=spec), made_up()]))
    plain = Page(landscape_page([made_up(run_spec={**spec, "task": "a", "pattern": "b"}), made_up()]))
    assert sorted(page.tags) == sorted(plain.tags)


def test_runs_are_named_by_what_tells_them_apart() -> None:
    other = made_up(run="9876543210abcdef")
    assert run_names([made_up(), made_up("top_k(5)")]) == ["full", "top_k(5)"]
    assert run_names([made_up(), made_up(epoch=5)]) == ["full, epoch 3", "full, epoch 5"]
    assert run_names([made_up(), other]) == ["full, 01234567", "full, 98765432"]
