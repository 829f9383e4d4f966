"""Accuracy at other lengths: read from the store, drawn, written as a table, exported."""

import json
from pathlib import Path
from typing import Any

import polars
import pytest
from typer.testing import CliRunner

from semfocus.analysis.summaries import analyse
from semfocus.cli.app import app
from semfocus.measurements.lengths import length_table
from semfocus.report.export import frames_of, runs_table
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.runs import open_store
from semfocus.runs.record import Record
from tests.report.made_up import study
from tests.report.pages import Page, charts_of

LENGTHS = {16: 1.0, 20: 0.9, 80: 0.5}
ARMS = {("full", 1.0): 1.0, ("top_k(5)", 1.0): 3.0}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Three seeds of two arms; full is evaluated, and worse on each seed than on the one before; so is one
    run of top_k.
    """
    for place, record in enumerate(study(tasks=1, seeds=3, epochs=30, arms=ARMS)):
        folder = tmp_path / record["run"]
        folder.mkdir(parents=True)
        (folder / "spec.json").write_text(json.dumps(record["spec"]))
        (folder / "record.json").write_text(json.dumps(record))
        rows = [row(length, accuracy - 0.1 * place) for length, accuracy in LENGTHS.items()]
        if place < 4:
            rows.insert(0, row(16, 0.0, num=10))  # fewer samples say less
            (folder / "evaluations.json").write_text(json.dumps({"rows": rows}))
    (folder / "evaluations.json").write_text("{}")
    return tmp_path


def row(length: int, accuracy: float, num: int = 1000) -> dict[str, Any]:
    return {"length": length, "num": num, "epoch": 30, "loss": 0.5, "accuracy": accuracy}


def loaded(store: Path) -> list[Record]:
    return open_store(store).records()


def test_medians_over_the_seeds_that_were_evaluated(store: Path) -> None:
    (summary,) = analyse(loaded(store))
    table = length_table(summary.comparison.arms)
    assert table is not None
    assert table.lengths == [16, 20, 80]
    assert table.trained_at == 16
    assert [len(seeds) for seeds in table.arms.values()] == [3, 1]
    whole = sorted(values[0] for _, values in table.arms["full"] if values[0] is not None)
    assert table.medians("full")[0] == whole[1]


def test_the_page_and_the_text_have_a_panel_and_a_table(store: Path) -> None:
    records = loaded(store)
    text = report_page(records)
    page = Page(text)
    assert page.problems == []
    (figure,) = [chart for chart in charts_of(text) if chart.title.startswith("accuracy by length")]
    assert figure.values["upright_words"] == "trained at 16"
    assert len({(row["arm"], row["member"]) for row in figure.rows if row["member"]}) == 4
    (summary,) = analyse(records)
    table = length_table(summary.comparison.arms)
    assert table is not None
    markdown = report_text(records)
    assert "| accuracy at length | 16 | 20 | 80 |" in markdown
    for cells in table.rows():
        assert all(cell in page.text.replace("\u00a0", " ") for cell in cells)
        assert cells[-1] in markdown


def test_nobody_looked_and_nothing_is_shown(store: Path) -> None:
    records = [
        dict(record) for record in open_store(store).records()
    ]  # as from elsewhere, without their directories
    assert "accuracy by length, after training" not in report_page(records)
    assert "accuracy at length" not in report_text(records)
    assert frames_of([Record(record) for record in records])["lengths"].height == 0


def test_every_row_is_exported_and_the_runs_stay_as_they_were(store: Path) -> None:
    records = loaded(store)
    table = frames_of(records)["lengths"]
    assert table.height == 16
    assert table.columns[:5] == ["run", "task", "arm", "group", "seed"]
    assert table.filter(polars.col("num") == 10)["accuracy"].to_list() == [0.0] * 4
    assert runs_table(records).columns == runs_table(open_store(store).records()).columns


def test_the_commands_read_the_store(store: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    report = CliRunner().invoke(app, ["report", "--store", str(store), "--output", str(page)])
    assert report.exit_code == 0, report.output
    assert "accuracy by length, after training" in page.read_text(encoding="utf-8")
    export = CliRunner().invoke(app, ["export", "--store", str(store), "--output", str(tmp_path / "tables")])
    assert export.exit_code == 0, export.output
    assert polars.read_csv(tmp_path / "tables" / "lengths.csv").height == 16
