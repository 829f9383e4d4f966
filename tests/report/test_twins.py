"""Twins: read from the store, drawn, written as a table and a sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from semfocus.analysis.summaries import analyse
from semfocus.measurements.twins import COLUMNS, TwinTable, twin_table
from semfocus.report.export import frames_of, runs_table
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.runs import open_store
from semfocus.runs.record import Record
from tests.report.made_up import study
from tests.report.pages import Page, charts_of, numbers

ARMS = {("full", 1.0): 1.0, ("top_k(5)", 1.0): 3.0}


def twins(factor: float, epochs: int = 30) -> dict[str, Any]:
    rows = [
        {"epoch": epoch, "distance": factor * epoch, "relative_distance": 0.01 * factor * epoch}
        | {"held_out_loss": 0.001 * factor * epoch}
        for epoch in range(epochs + 1)
    ]
    largest = {"largest_sample_gradient": 2.0, "largest_loss_ratio": 0.5, "largest_gradient_ratio": 4.0}
    return {"replaced": 0, "rows": rows, **largest}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three seeds of two arms; those of top_k are 2, 3 and 4 times as far from their twins; one file is damaged."""
    for place, record in enumerate(study(tasks=1, seeds=4, epochs=30, arms=ARMS)):
        folder = tmp_path / record["run"]
        folder.mkdir(parents=True)
        (folder / "spec.json").write_text(json.dumps(record["spec"]))
        (folder / "record.json").write_text(json.dumps(record))
        factor = 1.0 if record["spec"]["pattern"] == "full" else 2.0 + place % 4
        (folder / "twins.json").write_text(json.dumps({"twins": [twins(factor)]}))
    (folder / "twins.json").write_text("{}")
    return tmp_path


def loaded(store: Path) -> list[Record]:
    return open_store(store).records()


def test_medians_and_ratios_over_the_seeds_that_were_measured(store: Path) -> None:
    (summary,) = analyse(loaded(store))
    table = twin_table(summary.comparison.arms)
    assert table is not None
    assert {label: len(pairs) for label, pairs in table.arms.items()} == {"full": 4, "top_k(5)": 3}
    assert table.rows(spread=False) == [
        ["full", "30", "0.3", "0.03", "2", "0.5", "4", "-"],
        ["top_k(5)", "90", "0.9", "0.09", "2", "0.5", "4", "-"],
    ]
    assert table.rows()[1][1] == "90 (60 to 1.2e+02)"
    assert len(table.rows()[0]) == len(COLUMNS) + 1
    (sentence,) = table.sentences()
    assert numbers(sentence) == [3, 2, 4, 3, 2, 4, 3], "distances, losses, and seeds"
    assert table.curves("distance")["full"][0][1][:3] == [None, 1.0, 2.0]  # no logarithm of 0


def test_the_page_has_panels_a_table_and_the_sentence(store: Path) -> None:
    text = report_page(loaded(store))
    page = Page(text)
    assert page.problems == []
    figures = [chart for chart in charts_of(text) if chart.title.startswith("one sample replaced")]
    assert len(figures) == 2, "the made-up twins have neither training losses nor what the bound needs"
    for figure in figures:
        assert "ticks" in figure.values, "a logarithmic axis"
        assert len({(row["arm"], row["member"]) for row in figure.rows if row["member"]}) == 7
    for column in COLUMNS:
        assert column in page.text
    assert "3 times (2 to 4) as far from their twin" in page.text


def two_arms(full: list[dict[str, Any]], topk: list[dict[str, Any]]) -> TwinTable:
    """By arm, a pair for each seed."""
    table = twin_table(
        {
            label: [
                Record({"spec": {"seed": seed}}, measurements={"twins": own})
                for seed, own in enumerate(pairs)
            ]
            for label, pairs in (("full", full), ("top_k(5)", topk))
        }
    )
    assert table is not None
    return table


def test_a_pair_that_diverged_is_left_out_and_counted() -> None:
    short = {**twins(1.0, epochs=3), "diverged": "a loss after epoch 4 is not finite"}
    table = two_arms([[twins(1.0)], [twins(1.0)]], [[twins(2.0)], [short]])
    (sentence,) = table.sentences()
    assert numbers(sentence) == [2, 2, 1, 1], "distances, losses, a seed, and one left out"
    assert table.rows(spread=False)[1][1] == "60", (
        "the distance of a pair that ended early is no last distance"
    )


def test_pairs_are_of_the_same_sample_and_only_those_with_a_ratio_count() -> None:
    other = {**twins(8.0), "replaced": 5}
    table = two_arms([[twins(1.0), other], [twins(0.0)]], [[twins(3.0), {**other}], [twins(2.0)]])
    (sentence,) = table.sentences()
    assert numbers(sentence)[:3] == [2, 1, 3], "3 of sample 0 and 1 of sample 5"
    assert numbers(sentence)[-1] == 1, "on the second seed full attention never parted from its twin"


def test_the_bound_is_drawn_along_training() -> None:
    known = {
        "learning_rates": [0.1] * 30,
        "steps_per_epoch": 2,
        "num_train": 1000,
        "batch_size": 10,
        "largest_loss": 2.0,
        "is_plain_descent": True,
    }
    table = two_arms([[twins(1.0) | known]], [[twins(1.0) | known | {"is_plain_descent": False}]])
    bounds = table.bounds([0, 10, 30])
    first, early, late = bounds["full"][0][1]
    assert first is None
    assert early is not None
    assert late is not None
    assert 0 < early < late <= 1
    assert bounds["top_k(5)"][0][1] == [None] * 3, "of another optimiser the bound says nothing"


def test_twins_are_exported_and_written_as_markdown(store: Path) -> None:
    frame = frames_of(loaded(store))["twins"]
    assert len(frame) == 7 * 31
    own = [name for name in frame.columns if not name.startswith("pair.")]
    assert own[-4:] == ["epoch", "distance", "relative_distance", "held_out_loss"]
    assert "pair.largest_sample_gradient" in frame.columns, "what is known of both together"
    assert "One training sample replaced" in report_text(loaded(store))


def test_nobody_looked_and_nothing_is_shown(store: Path) -> None:
    records = [Record(dict(record)) for record in open_store(store).records()]  # without their directories
    assert "one sample replaced: distance" not in report_page(records)
    assert "twin" not in " ".join(runs_table(loaded(store)).columns)


def test_twins_that_never_part_have_a_table_and_no_figure(store: Path) -> None:
    for path in store.glob("*/twins.json"):
        path.write_text(json.dumps({"twins": [twins(0.0)]}))
    text = report_page(loaded(store))
    assert "one sample replaced: distance" not in text
    assert "as far from their twin" not in text
    assert Page(text).problems == []
