"""The page: what it says, that it stands alone, that it looks right whatever is in the store."""

import json
import math
import re
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from semfocus.report import write_report
from semfocus.report.markdown import plain, report_text
from semfocus.report.overview import headline, how_judged, scores
from semfocus.report.page import report_page
from semfocus.report.tables import detail_table
from semfocus.runs.plan import Plan
from semfocus.studies.analysis import analyse
from semfocus.studies.tables import summary_rows
from semfocus.studies.wording import bounded, number, p_value
from tests.report.made_up import SMALL_ARMS, record_of, spec_of, study
from tests.report.pages import Page

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
    text = report_page(records)
    wide = text[text.index('class="forest wide"') : text.index('class="forest narrow"')]
    assert "seed 1: 4x" in wide
    assert "seed 2: 2x" in wide
    ticks = {
        float(label): float(x)
        for x, label in re.findall(r'class="tick" x="([\d.]+)"[^>]*>([\d.]+)x</text>', wide)
    }
    dots = {seed: float(x) for x, seed in re.findall(r'cx="([\d.]+)"[^>]*><title>seed (\d)', wide)}
    assert dots["2"] == pytest.approx(ticks[2.0], abs=0.2)
    octave = ticks[2.0] - ticks[1.0]
    assert dots["1"] == pytest.approx(ticks[1.0] + 2 * octave, abs=0.3)
    square = float(re.search(r'<rect class="estimate" x="([\d.]+)"', wide)[1]) + 4.5
    assert square == pytest.approx(ticks[1.0] + math.log2(math.sqrt(8)) * octave, abs=0.3)


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
    text = Page(report_page(records)).text
    assert "even_pairs , by training.learning_rate" in text
    for rate in ("0.05", "0.1", "0.4"):
        assert f"learning_rate {rate}" in text
    assert "Robustness" not in Page(report_page(study(tasks=1, seeds=3, arms=FEW_ARMS))).text


@pytest.mark.parametrize(
    ("seeds", "epochs", "most"),
    [(2, 500, 1_500_000), pytest.param(10, 1000, 4_000_000, marks=pytest.mark.slow)],
    ids=["few seeds", "the paper's"],
)
def test_a_large_study_makes_a_light_page(seeds: int, epochs: int, most: int, tmp_path: Path) -> None:
    """Eight tasks and seven arms; with ten seeds of 1000 epochs 2.4 MB in 6 s."""
    records = study(tasks=8, seeds=seeds, epochs=epochs)
    assert len(records) == 56 * seeds
    path = write_report(records, tmp_path / "report.html")
    assert path.stat().st_size < most
    lines = re.findall(r'<path class="(?:median|seed)" d="([^"]*)"', path.read_text(encoding="utf-8"))
    assert len(lines) > 2 * len(records)
    assert max(line.count("l") for line in lines) < 200


def test_the_order_of_the_records_does_not_matter(records: list[dict]) -> None:
    def without_time(text: str) -> str:
        return re.sub(r"Made [^<]*", "", text)

    assert without_time(report_page(records)) == without_time(report_page(records[::-1]))


def test_records_are_left_as_they_were(records: list[dict]) -> None:
    before = json.dumps(records)
    report_page(records)
    assert json.dumps(records) == before


def test_arms_have_one_colour_everywhere(page: Page) -> None:
    """Curves and legend keys: every arm has one number in the whole page, and no two arms share one."""
    drawn = {
        (name, arm)
        for (_, key, arm), (_, other, name) in _neighbours(page)
        if key == "data-arm" and other == "data-name"
    }
    assert len(drawn) == len({name for name, _ in drawn}) == len({arm for _, arm in drawn}) == len(SMALL_ARMS)


def _neighbours(page: Page):
    return zip(page.values, page.values[1:], strict=False)


def test_a_colour_that_changes_between_figures_would_be_noticed(page: Page) -> None:
    """The guard of the test before, tried with the bug it is there for: one figure with another number."""
    arm = next(place for place, (_, key, _) in enumerate(page.values) if key == "data-name") - 1
    wrong = Page("")
    wrong.values = [*page.values]
    wrong.values[arm] = ("g", "data-arm", "99")
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
    assert "top_k(5) on 2 of 2 tasks (even_pairs and parity: at least 6x)" in headline(summaries)[0]
    judged = "Judged by 95 % intervals, not corrected for 2 comparisons."
    assert how_judged(scored) == judged
    assert judged in report_text([*records, *other])
    assert Page(report_page([*records, *other])).text.replace("\u00a0", " ").count(judged) == 2


def test_the_tick_of_a_diverged_run_stands_where_it_ended() -> None:
    records = [stepping(pattern, seed, 20) for pattern in ("full", "top_k(5)") for seed in (1, 2)]
    broken = record_of(records[-1]["spec"], middle=math.inf, state="diverged", last=15)
    text = report_page([*records[:-1], broken])
    figure = text[text.index('class="panel survival"') :]
    last, start, end = (
        float(re.search(rf'data-{name}="([\d.]+)"', figure)[1]) for name in ("last", "x0", "x1")
    )
    tick = float(re.search(r'class="censored" x1="([\d.]+)"', figure)[1])
    assert tick == pytest.approx(start + (end - start) * 15 / last, abs=0.1)


def test_a_run_that_reached_the_target_and_then_diverged_is_described_as_counted() -> None:
    records = [stepping(pattern, seed, 20) for pattern in ("full", "top_k(5)") for seed in (1, 2)]
    records[-1] |= {"state": "diverged", "reason": "loss is nan"}
    page = Page(report_page(records))
    assert "2/2" in page.text
    assert "If its training accuracy reached the target before, that epoch counts" in page.text
    assert "unless it was reached before" in page.text


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
    assert "seed 1: 1.47x" in text
    assert ">1.47x" in text


def test_with_several_tasks_each_is_answered_in_a_few_words(records: list[dict], page: Page) -> None:
    """The sentence with all its numbers stands once, under its task; before it, who is faster, unclear and slower."""
    for summary in analyse(records):
        assert page.text.count(summary.sentence) == 1
        answer = page.text[: page.text.index(summary.sentence)]
        for arm in summary.arms:
            if arm.speedup is not None:
                assert f"{arm.label} {bounded(arm.speedup)}" in answer


def test_a_tall_forest_plot_has_its_ticks_at_both_ends() -> None:
    def ticks(tasks: int) -> int:
        text = report_page(study(tasks=tasks, seeds=2, epochs=10))
        wide = text[text.index('class="forest wide"') : text.index('class="forest narrow"')]
        return wide.count(">1x</text>")

    assert (ticks(1), ticks(8)) == (1, 2)
