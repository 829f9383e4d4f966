"""Who is said to have won: with few seeds, with many, on some tasks and not on others; and the seeds behind it."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

import math
import re
from collections.abc import Sequence

from semfocus.analysis.overview import KINDS, arm_groups, headline, learned, scores
from semfocus.analysis.summaries import analyse
from semfocus.report.figures import FIGURES
from semfocus.report.markdown import report_text
from semfocus.report.pages.comparison import _winner as winner_of
from semfocus.report.pages.study_page import report_page
from semfocus.report.palette import inks
from semfocus.report.tables import detail_table, task_table
from tests.report.made_up import record_of, spec_of
from tests.report.pages import Page


def stepped(task: str, **epochs: Sequence[float]) -> list[dict]:
    """Runs of several arms on one task, each at the target from its epoch on; the names are those of `NAMED`."""
    found = []
    for name, own in epochs.items():
        pattern, temperature = NAMED[name]
        for seed, epoch in enumerate(own):
            record = record_of(spec_of(task, pattern, seed, temperature), middle=50, last=60)
            record["curve"]["train_accuracy"] = [0.99 if each >= epoch else 0.5 for each in range(61)]
            found.append(record | {"run": f"{task}-{name}-{seed}"})
    return found


NAMED = {
    "full": ("full", 1.0),
    "sharp": ("full", 4.0),
    "top_k": ("top_k(5)", 1.0),
    "banded": ("banded(5)", 1.0),
}
NEVER = math.inf


def test_two_seeds_that_agree_win_nothing_and_the_largest_estimate_is_named() -> None:
    """banded: 59/53 and 36/32, two that agree; full x4 is faster, and its seeds disagree."""
    records = stepped("even_pairs", full=[59, 36], banded=[53, 32], sharp=[40, 18])
    records += stepped("parity", full=[20, 30], banded=[NEVER, NEVER], sharp=[10, 14])
    records += stepped("listops", full=[NEVER] * 2, banded=[NEVER] * 2, sharp=[NEVER] * 2)
    summaries = analyse(records)
    assert {(score.label, kind) for score in scores(summaries) for kind in KINDS if score.on(kind)} == {
        ("banded(5)", "too few seeds"),
        ("full ×4", "too few seeds"),
    }
    winner = winner_of(summaries[0], inks(arm_groups(summaries)))
    assert winner is not None
    assert (winner.label, winner.sure) == ("full ×4", False)
    page = Page(report_page(records)).text.replace("\u00a0", " ")
    assert "full ×4 1.72x" in " ".join(page.split())
    assert not re.search(r"fastest\s*banded", page)


def test_the_headline_says_who_is_slower_and_counts_tasks_that_somebody_learned() -> None:
    records = stepped("even_pairs", full=[30, 31, 32, 33, 34], top_k=[10, 11, 10, 11, 10], banded=[NEVER] * 5)
    records += stepped("listops", full=[NEVER] * 5, top_k=[NEVER] * 5, banded=[NEVER] * 5)
    summaries = analyse(records)
    found = {(score.label, kind): score.on(kind) for score in scores(summaries) for kind in KINDS}
    assert {key: tasks for key, tasks in found.items() if tasks} == {
        ("top_k(5)", "faster"): ["even_pairs"],
        ("banded(5)", "slower"): ["even_pairs"],
    }
    assert [each.comparison.task for each in learned(summaries)] == ["even_pairs"]
    assert any("listops" in line for line in headline(summaries)), "what nobody learned is not left out"


def test_the_fastest_is_who_has_the_largest_estimate() -> None:
    unsure = [1, 59, 2, 59, 3]
    records = stepped("even_pairs", full=[40, 47, 58, 44, 50], top_k=[20, 22, 30, 21, 24], sharp=unsure)
    without = [record for record in records if "sharp" not in record["run"]]
    titles = []
    for own in (records, without):
        summaries = analyse(own)
        winner = winner_of(summaries[0], inks(arm_groups(summaries)))
        assert winner is not None
        assert (winner.label, winner.sure) == ("top_k(5)", True)
        titles.append(winner.title)
    assert titles == ["clearly faster", "fastest"]


def test_estimates_of_an_arm_span_all_its_tasks() -> None:
    records = stepped("even_pairs", full=[40, 44, 42, 46, 48], top_k=[10, 11, 10, 11, 10])
    records += stepped("parity", full=[40, 44, 42, 46, 48], top_k=[50, 30, 44, 40, 59])
    (score,) = scores(analyse(records))
    assert (score.on("faster"), score.on("undecided")) == (["even_pairs"], ["parity"])
    assert score.span() == "0.95x to 4.2x"


def test_the_small_numbers_of_a_row_stand_in_the_order_of_the_seeds() -> None:
    records = stepped("even_pairs", full=[40, 44, NEVER], top_k=[10, 11, 12])
    del records[4]  # seed 1 of top_k
    summary = analyse(records)[0]
    table = task_table(summary)
    assert "0, 1, 2" in table.legend
    full, top_k = ([cell.seeds for cell in row.cells] for row in table.rows)
    assert (full[0], top_k[0]) == ("40 44 >60", "10 \N{EN DASH} 12")
    assert len(top_k[3].split()) == len(top_k[4].split()) == len(top_k[5].split()) == 3
    assert table.legend in Page(report_page(records)).text
    assert "seeds 0, 1, 2" in report_text(records)


def test_an_arm_that_nobody_saw_learning_has_no_mean_and_one_that_never_began_no_time() -> None:
    records = stepped("even_pairs", full=[40, 44], banded=[NEVER, NEVER])
    records += [
        {"run": f"x{seed}", "spec": spec_of("even_pairs", "top_k(5)", seed), "state": "failed"}
        for seed in (0, 1)
    ]
    summary = analyse(records)[0]
    means = {row.label: row.cells[0].text for row in detail_table(summary).rows}
    assert means["full"].startswith("42 [")
    assert means["banded(5)"] == "\N{EN DASH}"
    times = {row.label: row.cells[0] for row in task_table(summary).rows}
    assert (times["top_k(5)"].text, times["top_k(5)"].seeds) == ("\N{EN DASH}", "\N{EN DASH} \N{EN DASH}")
    assert times["banded(5)"].text == "> 60"


def test_a_task_that_no_run_learned_has_no_row_of_speedups_unless_it_is_the_only_one() -> None:
    learned_one = stepped("even_pairs", full=[30, 31], top_k=[10, 11])
    nothing = stepped("listops", full=[NEVER] * 2, top_k=[NEVER] * 2)
    frame = FIGURES["speedup"].frame(analyse([*learned_one, *nothing]))
    assert frame["label"].unique().to_list() == ["even_pairs"], "named by its task: the study has others"
    assert len(FIGURES["speedup"].frame(analyse(nothing))) == 1
