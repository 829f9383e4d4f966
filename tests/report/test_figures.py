"""Figures in numbers: sampling, axes, tidy frames, and charts that Vega-Lite accepts."""

import math
from pathlib import Path
from xml.etree import ElementTree

import altair as alt
import polars as pl
import pytest
import vl_convert
from jsonschema import Draft7Validator

from semfocus.analysis.plans import Analysis
from semfocus.analysis.summaries import analyse
from semfocus.analysis.why.mediators import focus_of_arms
from semfocus.report.curves import epoch_grid, sample
from semfocus.report.figures import FIGURES, Look, Picture
from semfocus.report.figures.axis import round_ticks, value_axis
from semfocus.report.figures.figure import NOTHING
from semfocus.report.figures.regions import Mark
from semfocus.report.pages.album import columns_of
from semfocus.report.pages.study_page import study_pictures
from semfocus.report.pages.trial_page import group_of
from semfocus.report.pages.vega import Painter
from semfocus.report.palette import HUES, inks, stylesheet
from tests.analysis.why.planted import tasks_of
from tests.analysis.why.test_mediators import planted as focus_planted
from tests.report.made_up import record_of, spec_of, study
from tests.report.pages import unpacked
from tests.report.test_landscape_page import made_up
from tests.report.test_why import study as why_study
from tests.test_golden import trial_of

#: Altair's own check takes ten times as long: it looks for the best words for an error
VEGA_LITE = Draft7Validator(alt.load_schema())


def run(accuracies: list[float | None], seed: int = 1, **changes: object) -> dict:
    epochs = changes.pop("epochs", len(accuracies) - 1)
    record = record_of(spec_of("parity", "full", seed, training__epochs=epochs, **changes), middle=5, last=1)
    record["curve"] = {"epoch": list(range(len(accuracies))), "train_accuracy": accuracies}
    return record


def test_a_grid_has_at_most_two_hundred_epochs_and_both_ends() -> None:
    for last in (0, 1, 198, 199, 200, 201, 999, 1000, 12345):
        grid = epoch_grid([{"curve": {"epoch": list(range(last + 1))}}])
        assert grid[0] == 0
        assert grid[-1] == last
        assert len(grid) <= 200
        assert grid == sorted(set(grid))


def test_quartiles_are_those_of_the_seeds() -> None:
    records = [run([0.5, value], seed) for seed, value in enumerate((0.1, 0.2, 0.3, 0.4, 0.9))]
    sampled = sample(records, "train_accuracy", [0, 1])
    assert (sampled.lower[1], sampled.median[1], sampled.upper[1]) == (0.2, 0.3, 0.4)


def test_a_run_stopped_at_its_target_keeps_its_last_value_and_others_do_not() -> None:
    stopped = run([0.5, 0.96], epochs=3, training__stop_at=0.95)
    crashed = run([0.5, 0.6], epochs=3) | {"state": "failed"}
    grid = [0, 1, 2, 3]
    assert sample([stopped], "train_accuracy", grid).median == [0.5, 0.96, 0.96, 0.96]
    assert sample([crashed], "train_accuracy", grid).median == [0.5, 0.6, None, None]


def test_the_median_ends_where_a_seed_drops_out() -> None:
    """The median of the two that are left would fall from 0.9 to 0.5, which no run did."""
    records = [run([0.5, 0.9, 0.9]), run([0.5, 0.9]), run([0.5, 0.5, 0.5]), run([])]
    sampled = sample(records, "train_accuracy", [0, 1, 2])
    assert sampled.median == [0.5, 0.9, None]
    assert sampled.lower[2] is sampled.upper[2] is None


def test_values_that_are_not_numbers_are_gaps() -> None:
    assert sample([run([0.5, None, math.nan, 0.9])], "train_accuracy", [0, 1, 2, 3]).median == [
        0.5,
        None,
        None,
        0.9,
    ]


def test_axes_have_ticks_inside_their_range() -> None:
    assert round_ticks(0.3, 30) == [0.5, 1, 2, 5, 10, 20]
    assert round_ticks(51, 78) == [55, 60, 65, 70, 75], "1, 2 and 5 would be too few"
    for low, high in ((0.01, 100), (0.6, 1.7), (0.5, 1e6), (1e-12, 10)):
        ticks = round_ticks(low, high)
        assert 1 in ticks
        assert 3 <= len(ticks) <= 8
        assert low <= min(ticks) <= max(ticks) <= high


def test_axes_have_room_for_every_value() -> None:
    assert value_axis([0.0, 2.0]).low == 0
    assert value_axis([-3.0, 2.0]).low < -3
    assert value_axis([0.001, 10.0]).scale == "log"
    assert value_axis([0.0, 0.0]).high > 0


def test_arms_of_a_comparison_look_different() -> None:
    groups = {
        f"{group} {place}": group for group in HUES for place in range(1 if group == "baseline" else 12)
    }
    chosen = inks(groups)
    looks = {(ink.light, ink.dash) for ink in chosen.values()}
    assert len(looks) == len(groups)
    assert ".arm0{" in stylesheet(chosen.values())


ARMS_WITH_FOCUS = {"full": "baseline", "full \N{MULTIPLICATION SIGN}10": "sharper full attention"}


@pytest.fixture(scope="module")
def pictures() -> dict[str, Picture]:
    """Those of a study in which everything was measured, by name, and one of each other kind."""
    found = dict(study_pictures(Analysis.of(why_study())))
    found |= {
        name: FIGURES[name].of(analyse(study(tasks=2, seeds=3, epochs=20)))
        for name in ("speedup", "curves", "survival")
    }
    surfaces = [made_up("full"), made_up("top_k(5)")]
    found |= {"surface": FIGURES["surface"].of(surfaces), "cuts": FIGURES["cuts"].of(surfaces)}
    found["slopes"] = FIGURES["slopes"].of(surfaces, "grid")
    found["regions"] = FIGURES["regions"].of([Mark(0.5, 0.1, "parity", "75", "a tip", True, False)])
    found["focus-and-speedup"] = FIGURES["focus-and-speedup"].of(
        focus_of_arms(tasks_of(focus_planted())), inks=inks(ARMS_WITH_FOCUS)
    )
    trial = trial_of(7, full=2.0, top_k=4.0)
    groups = {arm.label: group_of(arm) for arm in trial.arms}
    for name in ("trial-ratios", "trial-curves", "trial-inside"):
        found[name] = FIGURES[name].of(trial, groups)
    return {name: picture for name, picture in found.items() if picture.panels}


def test_every_figure_is_valid_and_can_be_written(pictures: dict[str, Picture]) -> None:
    shown = {picture.figure.name for picture in pictures.values()}
    assert set(FIGURES) - shown == {"lengths", "twins", "robustness", "layers", "attention-map"}, (
        "others have tests of pages"
    )
    for picture in {each.figure.name: each for each in pictures.values()}.values():
        is_valid(picture)


def is_valid(picture: Picture) -> None:
    # panels of one kind share their description
    for panel in {each.kind or index: each for index, each in enumerate(picture.panels)}.values():
        looks = (Look(picture.chosen, on_page=True), Look(picture.chosen, live=False))
        for look in looks:
            assert VEGA_LITE.is_valid(panel.to_dict(look))
    assert VEGA_LITE.is_valid(picture.to_dict())
    drawn = picture.svg()
    root = ElementTree.fromstring(drawn)
    assert root.tag.endswith("svg")
    assert len(list(root.iter())) > 30
    assert "var(" not in drawn, "a file knows nothing of the variables of a page"


def test_a_spec_that_is_not_valid_would_be_noticed(pictures: dict[str, Picture]) -> None:
    """The guard of the test before, tried with the bug it is there for."""
    spec = pictures["curves"].panels[0].to_dict(Look(pictures["curves"].chosen))
    assert VEGA_LITE.is_valid(spec)
    assert not VEGA_LITE.is_valid({**spec, "height": "tall"})


def test_a_frame_of_curves_is_tidy() -> None:
    records = study(tasks=2, seeds=3, epochs=20)
    frame = FIGURES["curves"].frame(analyse(records))
    seeds = frame.filter(pl.col("member").is_not_null())
    assert len(seeds) == len(records) * 21 * 2
    one = records[0]
    own = seeds.filter(
        (pl.col("task") == one["spec"]["task"])
        & (pl.col("panel") == "held-out accuracy")
        & (pl.col("arm") == "full")
        & (pl.col("member") == str(one["spec"]["seed"]))
    )
    assert own["value"].to_list() == one["curve"]["held_out_accuracy"]
    assert own["x"].to_list() == list(range(21))
    medians = frame.filter(pl.col("member").is_null())
    assert (medians["low"] <= medians["value"]).all()
    assert (medians["value"] <= medians["high"]).all()


def test_panels_of_one_kind_differ_in_their_values_alone() -> None:
    """Two tasks on one page share one description: what it says must be true of both."""
    first, second = (
        FIGURES["curves"].of([summary]).panels[0] for summary in analyse(study(tasks=2, seeds=3, epochs=20))
    )
    assert first.kind == second.kind
    look = Look(FIGURES["curves"].of(analyse(study(tasks=1, seeds=3, epochs=20))).chosen, on_page=True)
    described = [panel.to_dict(look, fluid=True) for panel in (first, second)]
    for panel, each in zip((first, second), described, strict=True):
        own = {f"{name}0" for name in panel.values}
        assert {param["name"]: param["value"] for param in each["params"] if param["name"] in own} == {
            f"{name}0": value for name, value in panel.values.items()
        }
        each["params"] = [param for param in each["params"] if param["name"] not in own]
    assert described[0] == described[1]


SMALL = '{"data": {"values": [{"a": %d}]}, "mark": "text", "encoding": {"text": {"field": "a"}}}'


def test_a_process_of_its_own_draws_in_the_order_of_the_questions() -> None:
    own = Painter()
    found = [own.draw(SMALL % number) for number in (17, 18, 19)]
    for number, drawn in zip((17, 18, 19), found, strict=True):
        assert f">{number}</text>" in drawn.result(60)
        assert drawn.result() == vl_convert.vegalite_to_svg(SMALL % number)


def test_what_cannot_be_drawn_is_an_error_and_the_next_one_is_drawn() -> None:
    own = Painter()
    bad, good = own.draw('{"mark": "no such mark"}'), own.draw(SMALL % 5)
    with pytest.raises(ValueError, match="conversion failed"):
        bad.result(60)
    assert ">5</text>" in good.result(60)


@pytest.mark.parametrize("broken", ["not there", "ended"])
def test_without_that_process_pictures_are_drawn_in_place(
    broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken == "not there":
        monkeypatch.setattr("sys.executable", "/no/such/python")
    own = Painter()
    if broken == "ended":
        assert own.process is not None
        own.process.kill()
        own.process.wait()
    assert ">5</text>" in own.draw(SMALL % 5).result(60)


@pytest.mark.parametrize("name", ["twins", "lengths", "speedup"])
def test_a_figure_of_nothing_says_so(name: str, tmp_path: Path) -> None:
    picture = FIGURES[name].of(analyse(study(tasks=1, seeds=2, epochs=5)) if name != "speedup" else [])
    assert not picture.panels
    assert f">{NOTHING}</text>" in picture.svg()
    picture.chart().to_dict(validate=True)
    assert NOTHING in picture.save(tmp_path / "page.html").read_text(encoding="utf-8")


def test_a_notebook_shows_svg_and_asks_nobody_for_a_script(pictures: dict[str, Picture]) -> None:
    picture = pictures["speedup"]
    assert picture._repr_svg_().startswith("<svg")
    shown = picture.interactive()._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert "src=&#34;http" not in shown
    assert "vegaEmbed" in shown


@pytest.mark.parametrize(
    "values",
    [
        [],
        [1.0],
        [0.1, 0.2, 0.1, 0.2],
        ["a"] * 7 + ["b"],
        [None, 1.0, None],
        [True, 1, 1.0, "1", None],
        list("abcab"),
    ],
)
def test_packed_columns_are_whole(values: list) -> None:
    assert (
        unpacked(columns_of(pl.DataFrame({"a": values}, strict=False))["a"])
        == pl.DataFrame({"a": values}, strict=False)["a"].to_list()
    )
