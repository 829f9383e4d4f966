"""The page about landscapes: self-contained, one scale for all, nothing hidden that is not finite, nothing a user named is markup."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from semfocus.report.colour_ramp import colour, ramp_of
from semfocus.report.contours import contour_segments
from semfocus.report.landscape_maps import run_names, write_landscape_maps
from semfocus.report.landscape_page import landscape_page
from semfocus.runs.landscape_spec import grid_axis
from semfocus.studies.landscape.result import Grid, Landscape
from tests.report.pages import Page


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


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_the_page_is_whole_and_needs_nothing_but_itself() -> None:
    text = landscape_page([made_up("top_k(5)", 0.5), made_up("full")])
    page = Page(text)
    assert page.problems == []
    assert not re.search(r'(?:src|href)="(?!#)', text)
    assert "http" not in re.sub(r"<meta http-equiv[^>]*>", "", text)
    assert len(re.findall('class="panel map"', text)) == 4
    assert len(re.findall('class="panel slopes"', text)) == 8
    assert "12.5 ± 0.1" in page.text
    assert "equals the model's own" in page.text
    assert [each["name"] for each in data_of(text)["surfaces"]] == ["full", "full", "top_k(5)", "top_k(5)"]


def test_a_centre_that_is_not_the_models_loss_is_said() -> None:
    assert "not the model's own, 0.02" in Page(landscape_page([made_up(own_loss=0.02)])).text


def test_a_model_that_is_in_no_basin_is_named_before_its_map() -> None:
    learned = Page(landscape_page([made_up(train_accuracy=1.0)], "semfocus landscape 0123")).text
    assert "training accuracy 100 %" in learned
    assert "has not learned" not in learned
    assert "not at a minimum" not in learned
    assert "This page: semfocus landscape 0123" in learned
    landscape = made_up(train_accuracy=0.6)
    landscape.grids[1].losses[4, 6] = 0.004
    text = Page(landscape_page([landscape])).text
    assert (
        "full has not learned its task (training accuracy 60 %): a flat place is not a basin; it is not at a minimum"
        in text
    )
    assert "at (0.5, 0) of pair 2 the loss is 0.006 lower than at the model" in text
    assert text.index("is not at a minimum") < text.index("The loss on the plane")


def test_maps_alone_are_a_file_with_a_row_for_each_task(tmp_path: Path) -> None:
    spec = made_up().run_spec
    found = [
        made_up(run_spec=spec | {"task": task, "pattern": pattern})
        for task in ("parity", "listops")
        for pattern in ("top_k(5)", "full")
    ]
    root = ElementTree.parse(write_landscape_maps(found, tmp_path / "new" / "maps.svg")).getroot()
    maps = [each for each in root if each.get("class") == "panel map"]
    titles = [next(each.itertext()) for each in maps]
    assert titles == 2 * ["full, listops", "top_k(5), listops", "full, parity", "top_k(5), parity"]
    rows = [str(each.get("transform")).split()[1] for each in maps]
    assert rows[::2] == rows[1::2]
    assert len(set(rows)) == 4
    assert [each.get("class") for each in root][-1] == "legend-bar"


def test_the_epoch_of_a_map_stands_below_its_name(tmp_path: Path) -> None:
    found = [made_up(epoch=3), made_up(epoch=40, train_accuracy=0.5)]
    text = write_landscape_maps(found, tmp_path / "maps.svg").read_text(encoding="utf-8")
    assert text.count(">full</text>") == 4
    assert ">epoch 3</text>" in text
    assert ">epoch 40, training accuracy 50 %</text>" in text


def test_maps_without_a_grid_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--pairs must be at least 1"):
        write_landscape_maps([replace(made_up(), grids=[])], tmp_path / "maps.svg")


def test_links_lead_to_sections() -> None:
    page = Page(landscape_page([made_up()]))
    ids = {value for _, name, value in page.values if name == "id"}
    links = {value[1:] for tag, name, value in page.values if (tag, name) == ("a", "href")}
    assert {"maps", "steepness", "numbers"} <= links <= ids


def test_all_surfaces_share_one_scale() -> None:
    data = data_of(landscape_page([made_up("full", 100.0), made_up("top_k(5)", 0.1)]))
    assert (data["low"], data["high"], data["logarithmic"]) == (0.01, pytest.approx(300.01), True)


def test_losses_that_are_not_finite_are_grey_and_counted() -> None:
    landscape = made_up()
    landscape.grids[0].losses[0, :3] = math.inf
    landscape.grids[0].losses[8, 8] = math.nan
    text = landscape_page([landscape])
    assert "4 points without a finite loss are grey" in Page(text).text
    assert len(re.findall('class="not-finite"', text)) == 1
    assert data_of(text)["surfaces"][0]["losses"][0][:4] == [None, None, None, pytest.approx(1.073, abs=1e-3)]
    assert "without a finite loss" not in Page(landscape_page([made_up()])).text


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


def test_a_fine_grid_is_thinned_around_its_centre() -> None:
    surface = data_of(landscape_page([made_up(points=201)]))["surfaces"][0]
    half = len(surface["losses"]) // 2
    assert len(surface["losses"]) <= 61
    assert surface["losses"][half][half] == 0.01
    assert surface["losses"][0][half] == pytest.approx(0.01 + 2 * 0 + surface["radius"] ** 2)


def test_contours_of_a_cone_are_circles() -> None:
    axis = np.linspace(-1, 1, 41)
    x, y = np.meshgrid(axis, axis)
    ends = [end for piece in contour_segments(np.hypot(x, y), 0.6) for end in piece]
    radii = [math.hypot(column / 20 - 1, row / 20 - 1) for column, row in ends]
    assert len(radii) > 80
    assert max(abs(radius - 0.6) for radius in radii) < 2e-3


def test_a_saddle_joins_the_ends_that_its_middle_says() -> None:
    low_middle = contour_segments(np.array([[1.0, 0.0], [0.0, 1.0]]), 0.6)
    high_middle = contour_segments(np.array([[1.0, 0.0], [0.0, 1.0]]), 0.4)
    # Below the level in the middle: the pieces cut off the high corners (0, 0) and (1, 1); above it: the low ones.
    near = lambda pieces, corner: any(all(math.dist(end, corner) < 0.7 for end in piece) for piece in pieces)  # noqa: E731
    assert near(low_middle, (0, 0))
    assert near(low_middle, (1, 1))
    assert not near(low_middle, (1, 0))
    assert near(high_middle, (1, 0))
    assert near(high_middle, (0, 1))
    assert not near(high_middle, (0, 0))


def test_contours_leave_out_what_is_not_finite() -> None:
    values = np.array([[0.0, 1.0, math.nan], [0.0, 1.0, 0.0]])
    assert contour_segments(values, 0.5) == [((0.5, 0.0), (0.5, 1.0))]


def test_the_scale_is_logarithmic_only_where_losses_differ_much() -> None:
    assert not ramp_of([0.5, 1.0, math.inf]).logarithmic
    wide = ramp_of([0.001, 1.0, math.nan])
    assert wide.logarithmic
    assert wide.share(0.0316227766) == pytest.approx(0.5)
    assert ramp_of([]).share(3.0) == 0.5
    lightness = [sum(int(colour(share / 10)[at : at + 2], 16) for at in (1, 3, 5)) for share in range(11)]
    assert lightness == sorted(lightness)
