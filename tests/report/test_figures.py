"""Figures in numbers: paths, axes, sampling, labels."""

import math

import pytest

from semfocus.report import panel
from semfocus.report.curve_figure import curve_figure
from semfocus.report.palette import HUES, inks, stylesheet
from semfocus.report.sampling import epoch_grid, sample
from semfocus.report.scales import Linear, Logarithmic
from semfocus.report.spread import spread
from semfocus.report.svg import path
from tests.report.made_up import record_of, spec_of


def run(accuracies: list[float | None], seed: int = 1, **changes: object) -> dict:
    epochs = changes.pop("epochs", len(accuracies) - 1)
    record = record_of(spec_of("parity", "full", seed, training__epochs=epochs, **changes), middle=5, last=1)
    record["curve"] = {"epoch": list(range(len(accuracies))), "train_accuracy": accuracies}
    return record


def test_a_path_is_relative_steps_without_the_middle_of_level_stretches() -> None:
    assert path([(0, 10), (1, 10), (2, 10), (3, 4.5)]) == "M0 10l2 0l1-5.5"
    assert path([(0, 1), None, (5, 1), (6, 0.5)]) == "M0 1M5 1l1-.5"


def test_rounding_does_not_add_up_along_a_path() -> None:
    points = [(0.33 * place, 5 + 0.04 * place) for place in range(400)]
    x = y = 0.0
    for step in path(points).replace("M", "l").split("l")[1:]:
        dx, dy = (float(each) for each in step.replace("-", " -").split())
        x, y = x + dx, y + dy
    assert (x, y) == pytest.approx(points[-1], abs=0.06)


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


def test_seeds_that_are_left_go_on_as_lines_of_their_own() -> None:
    arms = {
        "full": [run([0.5, 0.9, 0.9]), run([0.5, 0.9]), run([0.5, 0.5, 0.5])],
        "top_k(5)": [run([0.5, 0.6, 0.7])],
    }
    figure = str(
        curve_figure("accuracy", arms, "train_accuracy", inks(dict.fromkeys(arms, "baseline")), 0.95)
    )
    assert figure.count('class="alone"') == 2


def test_values_that_are_not_numbers_are_gaps() -> None:
    assert sample([run([0.5, None, math.nan, 0.9])], "train_accuracy", [0, 1, 2, 3]).median == [
        0.5,
        None,
        None,
        0.9,
    ]


def test_labels_are_spread_and_keep_their_order() -> None:
    wanted = [100, 100, 101, 20, 100.5, 99]
    places = spread(wanted, 12, 0, 120)
    order = sorted(range(6), key=lambda index: wanted[index])
    assert [places[index] for index in order] == sorted(places)
    gaps = [second - first for first, second in zip(sorted(places), sorted(places)[1:], strict=False)]
    assert min(gaps) >= 12 - 1e-9
    assert min(places) >= 0
    assert max(places) <= 120


def test_axes_have_ticks_inside_their_range() -> None:
    assert Linear(0.4, 1.0, 0, 1).ticks(5) == [0.4, 0.6, 0.8, 1]
    assert Linear(0, 1000, 0, 1).ticks(5) == [0, 200, 400, 600, 800, 1000]
    assert Linear(0, 1, 0, 1).ticks(5) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert Logarithmic(0.3, 30, 0, 1).ticks() == [0.5, 1, 2, 5, 10, 20]
    for low, high in ((0.01, 100), (0.9, 1.7), (0.5, 1e6)):
        assert 1 in Logarithmic(low, high, 0, 1).ticks()


def test_arms_of_a_comparison_look_different() -> None:
    groups = {
        f"{group} {place}": group for group in HUES for place in range(1 if group == "baseline" else 12)
    }
    chosen = inks(groups)
    looks = {(ink.light, ink.dash) for ink in chosen.values()}
    assert len(looks) == len(groups)
    assert ".arm0{" in stylesheet(chosen.values())


def test_names_of_lines_are_whole_where_there_is_room() -> None:
    def ends(*labels: str) -> str:
        runs = [run([0.5, 0.9])]
        drawn = curve_figure(
            "t", dict.fromkeys(labels, runs), "train_accuracy", inks(dict.fromkeys(labels, "control")), 0.95
        )
        assert drawn is not None
        return "".join(part.partition("</text>")[0] for part in str(drawn).split("end-label")[1:])

    assert ">sharper full (4)" in ends("full", "sharper full (4)")
    longest = "a_pattern_whose_name_never_ends(12345)"
    assert longest not in ends("full", longest)
    assert "…" in ends("full", longest)
    assert panel.label_room(["full", longest]) == panel.WIDTH / 3
    assert panel.label_room(["full"]) < panel.WIDTH / 3
