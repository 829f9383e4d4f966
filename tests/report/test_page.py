"""The page: what it says, that it stands alone, that it looks right whatever is in the store."""

import json
import math
import re
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl
import pytest

from semfocus.analysis.overview import headline, how_judged, scores
from semfocus.analysis.summaries import analyse
from semfocus.analysis.tables import summary_rows
from semfocus.analysis.wording import bounded
from semfocus.report import write_report
from semfocus.report.figures import FIGURES
from semfocus.report.markdown import plain, report_text
from semfocus.report.pages.study_page import report_page
from semfocus.report.pages.template import environment
from semfocus.report.tables import detail_table
from semfocus.runs.plan import Plan
from semfocus.words import number, p_value
from tests.report.made_up import SMALL_ARMS, record_of, spec_of, study
from tests.report.pages import Page, charts_of

FEW_ARMS = {
    key: SMALL_ARMS[key] for key in (("full", 1.0), ("full", 4.0), ("banded(5)", 1.0), ("top_k(5)", 1.0))
}


@pytest.fixture(scope="module")
def records() -> list[dict]:
    return study(tasks=3, seeds=5)


@pytest.fixture(scope="module")
def page(records: list[dict]) -> Page:
    plan = Plan("small", "Which?", "semfocus study small --seeds 5", [record["run"] for record in records])
    return Page(report_page(records, plans=[plan]))


def test_the_page_is_well_formed_and_needs_nothing_else(page: Page) -> None:
    assert page.problems == []
    addresses = [value for _, name, value in page.values if name in ("src", "href", "action", "xlink:href")]
    assert addresses
    assert all(address.startswith("#") for address in addresses)
    assert not any(name.startswith("on") for _, name, _ in page.values), "handlers stand in the script"
    assert "@import" not in page.text
    assert "url(" not in page.text


def test_the_answer_needs_no_script(records: list[dict]) -> None:
    """What a reader came for stands before the first script, and pictures between noscript."""
    text = report_page(records)
    before = Page(text[: text.index("<script")])
    for sentence in headline(analyse(records)):
        assert sentence in before.text
    static = re.findall(r"<noscript><figure.*?</noscript>", text, re.DOTALL)
    assert len(static) == 2, "speedups, and the curves of all tasks"
    assert all("<svg" in each and "var(--arm" in each for each in static), "in the colours of the page"


def test_every_link_inside_the_page_has_a_target(page: Page) -> None:
    targets = {value for _, name, value in page.values if name == "id"}
    links = {value[1:] for tag, name, value in page.values if tag == "a" and name == "href"}
    assert links <= targets


def test_sentences_and_numbers_are_those_of_the_analysis(records: list[dict], page: Page) -> None:
    for summary in analyse(records):
        assert summary.sentence in page.text
        for row in summary_rows(summary):
            for key in ("epochs", "speedup", "seconds", "held_out_epochs", "last_held_out", "gap", "reached"):
                if row[key] and row[key] != "baseline":
                    assert row[key] in page.text, (summary.comparison.task, row["arm"], key)


def test_the_forest_plot_puts_estimates_and_seeds_where_the_numbers_are() -> None:
    """Two seeds, 40 against 10 and 20 epochs: ratios 4 and 2 on a logarithmic axis."""
    records = [
        record_of(spec_of("parity", pattern, seed), middle=50, last=60)
        for pattern in ("full", "top_k(5)")
        for seed in (1, 2)
    ]
    for record, epoch in zip(records, (40, 40, 10, 20), strict=True):
        record["curve"]["train_accuracy"] = [0.99 if each >= epoch else 0.5 for each in range(61)]
    (forest,) = [chart for chart in charts_of(report_page(records)) if "kind" in chart.rows[0]]
    seeds = {row["seed"]: (row["ratio"], row["words"]) for row in forest.rows if row["kind"] == "seed"}
    assert seeds == {"1": (4, "4x"), "2": (2, "2x")}
    (estimate,) = [row for row in forest.rows if row["kind"] == "row"]
    assert estimate["ratio"] == pytest.approx(math.sqrt(8), rel=1e-4)
    assert estimate["shape"] == "square"
    low, high = forest.spec["layer"][0]["encoding"]["x"]["scale"]["domain"]
    assert low < 1 / 1.6
    assert high > 4


def test_the_command_that_repeats_the_figures_is_there(page: Page) -> None:
    assert page.text.count("semfocus study small --seeds 5") >= 3
    assert "semfocus train even_pairs --pattern 'top_k(5)' --seed 153476998" in page.text


def test_runs_that_are_not_done_are_listed_with_their_reasons() -> None:
    records = study(tasks=1, seeds=3, arms=FEW_ARMS)
    records[0] |= {"state": "diverged", "reason": "loss is nan at epoch 3"}
    records[1] |= {"state": "failed", "reason": "MemoryError: no room"}
    records[2] |= {"state": "unfinished", "reason": None, "curve": {}, "summary": {}}
    records.append({"run": "c0ffee", "spec": {}, "state": "corrupt", "reason": "journal.jsonl, line 3"})
    page = Page(report_page(records))
    assert page.problems == []
    for text in ("loss is nan at epoch 3", "MemoryError: no room", "journal.jsonl, line 3", "unfinished"):
        assert text in page.text


def test_stopping_at_the_target_is_labelled_and_its_curve_goes_on() -> None:
    stopped = study(tasks=1, seeds=3, arms=FEW_ARMS, training__stop_at=0.95)
    assert "stopped early, at 95 %" in Page(report_page(stopped)).text
    assert "no early stop" in Page(report_page(study(tasks=1, seeds=3, arms=FEW_ARMS))).text


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([], "There are no runs in this store yet"),
        ([{"run": "abc", "spec": {}, "state": "corrupt", "reason": "damaged"}], "nothing to compare"),
        (study(tasks=1, seeds=1, arms={("full", 1.0): 1.0}), "nothing to compare"),
        (study(tasks=1, seeds=1, arms=FEW_ARMS), "1 seed, no verdict"),
        (study(tasks=1, seeds=3, arms={("top_k(5)", 1.0): 1.0}), "nothing to compare"),
    ],
    ids=["empty", "corrupt", "one run", "one seed", "no baseline"],
)
def test_small_stores_have_a_page_too(records: list[dict], says: str) -> None:
    page = Page(report_page(records))
    assert page.problems == []
    assert says in page.text


def test_speedups_by_setting_are_shown_where_one_setting_varies() -> None:
    records = [
        record
        for rate in (0.05, 0.1, 0.4)
        for record in study(tasks=1, seeds=3, arms=FEW_ARMS, training__learning_rate=rate)
    ]
    page = report_page(records)
    assert "even_pairs , by training.learning_rate" in Page(page).text
    labels = {row["label"] for chart in charts_of(page) for row in chart.rows if row.get("kind") == "row"}
    assert {f"learning_rate {rate}" for rate in ("0.05", "0.1", "0.4")} <= labels
    assert "Robustness" not in Page(report_page(study(tasks=1, seeds=3, arms=FEW_ARMS))).text


@pytest.mark.parametrize(
    ("seeds", "epochs", "most"),
    [(2, 500, 3_000_000), pytest.param(10, 1000, 6_000_000, marks=pytest.mark.slow)],
    ids=["few seeds", "the paper's"],
)
def test_a_large_study_makes_a_light_page(seeds: int, epochs: int, most: int, tmp_path: Path) -> None:
    """Eight tasks and seven arms; with ten seeds of 1000 epochs 4.5 MB."""
    records = study(tasks=8, seeds=seeds, epochs=epochs)
    assert len(records) == 56 * seeds
    path = write_report(records, tmp_path / "report.html")
    assert path.stat().st_size < most
    charts = charts_of(path.read_text(encoding="utf-8"))
    lines = Counter(
        (place, row["arm"], row["member"])
        for place, chart in enumerate(charts)
        for row in chart.rows
        if "member" in row
    )
    assert sum(member is not None for _, _, member in lines) == 2 * len(records)
    assert max(lines.values()) <= 200


def test_the_order_of_the_records_does_not_matter(records: list[dict]) -> None:
    def without_time(text: str) -> str:
        return re.sub(r"Made [^<]*", "", text)

    assert without_time(report_page(records)) == without_time(report_page(records[::-1]))


def test_records_are_left_as_they_were(records: list[dict]) -> None:
    before = json.dumps(records)
    report_page(records)
    assert json.dumps(records) == before


def test_arms_have_one_colour_everywhere(page: Page) -> None:
    """Legend keys and table rows: every arm has one class in the whole page, and no two arms share one."""
    keys = {(name, css.removeprefix("key ")) for css, name in _keys(page)}
    assert len(keys) == len({name for name, _ in keys}) == len({css for _, css in keys}) == len(SMALL_ARMS)


def _keys(page: Page) -> list[tuple[str, str]]:
    both = zip(page.values, page.values[1:], strict=False)
    return [(css, name) for (_, one, css), (_, other, name) in both if (one, other) == ("class", "data-name")]


def test_a_colour_that_changes_between_figures_would_be_noticed(page: Page) -> None:
    """The guard of the test before, tried with the bug it is there for: one legend with another class."""
    place = next(place for place, (_, key, _) in enumerate(page.values) if key == "data-name") - 1
    wrong = Page("")
    wrong.values = [*page.values]
    wrong.values[place] = ("button", "class", "key arm99")
    with pytest.raises(AssertionError):
        test_arms_have_one_colour_everywhere(wrong)


def stepping(pattern: str, seed: int, epoch: float, **changes: Any) -> dict:
    """A run of 60 epochs that jumps to the target at one of them."""
    record = record_of(spec_of("parity", pattern, seed), middle=50, last=60)
    record["curve"]["train_accuracy"] = [0.99 if each >= epoch else 0.5 for each in range(61)]
    return record | changes


def test_a_bound_stays_a_bound_in_the_headline_and_the_judgement_is_named() -> None:
    """full never arrives: 60 / 10 epochs is the least that the speedup can be."""
    records = [
        stepping(pattern, seed, math.inf if pattern == "full" else 10)
        for pattern in ("full", "top_k(5)")
        for seed in range(6)
    ]
    other = [record | {"spec": record["spec"] | {"task": "even_pairs"}} for record in records]
    summaries = analyse([*records, *other])
    scored = scores(summaries)
    assert [score.span() for score in scored] == ["at least 6x"]
    assert "at least 6x" in headline(summaries)[0]
    judged = how_judged(scored)
    assert "2 comparisons" in judged
    assert judged in report_text([*records, *other])
    assert Page(report_page([*records, *other])).text.replace("\u00a0", " ").count(judged) == 2


def test_the_tick_of_a_diverged_run_stands_where_it_ended() -> None:
    records = [stepping(pattern, seed, 20) for pattern in ("full", "top_k(5)") for seed in (1, 2)]
    broken = record_of(records[-1]["spec"], middle=math.inf, state="diverged", last=15)
    frame = FIGURES["survival"].frame(analyse([*records[:-1], broken]))
    (tick,) = frame.filter(pl.col("seed").is_not_null()).to_dicts()
    assert (tick["arm"], tick["epoch"], tick["left"]) == ("top_k(5)", 15, 1)


def test_a_run_that_reached_the_target_and_then_diverged_is_described_as_counted() -> None:
    records = [stepping(pattern, seed, 20) for pattern in ("full", "top_k(5)") for seed in (1, 2)]
    records[-1] |= {"state": "diverged", "reason": "loss is nan"}
    page = Page(report_page(records))
    assert "2/2" in page.text


def test_what_is_computed_is_shown(records: list[dict], page: Page) -> None:
    markdown = report_text(records)
    for summary in analyse(records):
        for row in detail_table(summary).rows:
            assert len(row.cells) == 4
            for cell in row.cells:
                assert cell.text in page.text
                assert plain(cell.text) in markdown
        faster = next(arm for arm in summary.arms if arm.label == "top_k(5)")
        mean, seconds, held_out, losses = (
            cell.text for row in detail_table(summary).rows if row.label == "top_k(5)" for cell in row.cells
        )
        assert mean.startswith(number(faster.mean_epochs.value))
        assert seconds == f"{p_value(faster.seconds_p)}, Holm {p_value(faster.seconds_p_holm)}"
        assert held_out == f"{p_value(faster.held_out_p)}, Holm {p_value(faster.held_out_p_holm)}"
        assert losses.startswith(f"{median(faster.loss_gap):+.3f} (")


def test_ratios_are_worded_alike_everywhere() -> None:
    """A dot of the forest plot and the table of one seed say the same."""
    records = [
        stepping("full", 1, 44),
        stepping("top_k(5)", 1, 30),
        stepping("full", 2, 44),
        stepping("top_k(5)", 2, 30),
    ]
    text = report_page(records)
    (forest,) = [chart for chart in charts_of(text) if "kind" in chart.rows[0]]
    assert {row["words"] for row in forest.rows if row["kind"] == "seed"} == {"1.47x"}
    assert ">1.47x" in text


def test_with_several_tasks_each_is_answered_in_a_few_words(records: list[dict], page: Page) -> None:
    """The sentence with all its numbers stands once, under its task; before it, who is faster, undecided and slower."""
    for summary in analyse(records):
        assert page.text.count(summary.sentence) == 1
        answer = page.text[: page.text.index(summary.sentence)]
        for arm in summary.arms:
            if arm.speedup is not None:
                assert f"{arm.label} {bounded(arm.speedup)}" in answer


def test_an_option_and_its_number_stay_on_one_line_and_are_escaped() -> None:
    said = (
        environment()
        .from_string("{{ text|options }}")
        .render(text="rerun <b> with --seeds 6, or --every-epoch")
    )
    assert said == (
        'rerun &lt;b&gt; with <span class="unbroken">--seeds 6</span>, or <span class="unbroken">--every-epoch</span>'
    )


def test_where_nobody_reached_the_target_words_stand_in_place_of_the_speedups() -> None:
    records = [
        record_of(spec_of("even_pairs", pattern, seed), middle=math.inf)
        for pattern in ("full", "top_k(5)")
        for seed in (1, 2)
    ]
    page = report_page(records)
    assert "No speedup is known" in page
    assert "slower ←" not in page
