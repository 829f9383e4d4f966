"""The report of language models: perplexities on axes that show them."""

import copy
import math
import re
from pathlib import Path
from typing import Any

from semfocus.analysis.claims import judge_all
from semfocus.analysis.plans import Analysis
from semfocus.analysis.summaries import analyse
from semfocus.report import write_markdown
from semfocus.report.pages.study_page import report_page, write_figures
from tests.report.made_up import study
from tests.report.pages import charts_of


def language_records() -> list[dict[str, Any]]:
    """Made-up runs as language models: perplexity falls from 256 towards 6, faster for some arms."""
    records = copy.deepcopy(study(tasks=1, seeds=3, epochs=30))
    for record in records:
        record["spec"] |= {"task": "text:stdlib", "data": "0" * 64}
        speed = {"full": 1.0, "top_k(5)": 1.5}.get(record["spec"]["pattern"], 0.8)
        losses = [
            math.log(6) + (math.log(256) - math.log(6)) * math.exp(-speed * epoch / 6)
            for epoch in record["curve"]["epoch"]
        ]
        record["curve"] |= {"held_out_loss": losses, "train_loss": [0.95 * loss for loss in losses]}
    return records


def test_the_page_shows_perplexities() -> None:
    records = language_records()
    page = report_page(records)
    (summary,) = analyse(records)
    titles = re.findall(r'class="panel-title"[^>]*>([^<]*)<', page)
    assert titles[:2] == ["held-out perplexity", "training perplexity"]
    assert f"target {summary.goal.perplexity:.3g}" in page
    assert "epochs to held-out perplexity" in page
    assert 'id="claims"' not in page
    assert (
        "training accuracy is at least" not in page.split("<dt>Perplexity</dt>")[0].split("Task by task")[1]
    )
    chart = next(chart for chart in charts_of(page) if chart.title == "held-out perplexity")
    low, high = chart.values["low"], chart.values["high"]
    first = math.exp(max(record["curve"]["held_out_loss"][1] for record in records))
    assert 1 < low < 6.5
    assert first < high < 1.5 * first, "from the first trained epoch on: the untrained model is not drawn"
    assert len(chart.values["ticks"]) >= 3
    assert all(low <= tick <= high for tick in chart.values["ticks"])


def test_claims_are_not_about_language_models() -> None:
    assert not any(claim.numbers for claim in judge_all(analyse(language_records())))


def test_markdown_has_the_same_words(tmp_path: Path) -> None:
    text = write_markdown(language_records(), tmp_path / "report.md").read_text(encoding="utf-8")
    assert "last held-out perplexity" in text
    assert "accuracy" not in text
    assert "Claims" not in text, "all of them are about tasks"


def test_a_figure_in_a_file_names_its_ticks_in_plain_numbers(tmp_path: Path) -> None:
    curves = next(
        path
        for path in write_figures(Analysis.of(language_records()), tmp_path, "svg")
        if path.stem == "curves-1"
    )
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", curves.read_text(encoding="utf-8"))
    assert len([each for each in texts if each.isdigit()]) >= 6
