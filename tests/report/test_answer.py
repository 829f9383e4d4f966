"""Who is said to have won: with few seeds, with many, on some tasks and not on others; and the seeds behind it."""

# ruff: noqa: RUF001  (the multiplication sign of a label)

import math
import re
from collections.abc import Sequence

from semfocus.analysis.contrasts import analyse
from semfocus.analysis.overview import headline, scores
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
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
    """banded: 59/53 and 36/32 agree; full x4 is faster and its seeds disagree."""
    records = stepped("even_pairs", full=[59, 36], banded=[53, 32], sharp=[40, 18])
    records += stepped("parity", full=[20, 30], banded=[NEVER, NEVER], sharp=[10, 14])
    records += stepped("listops", full=[NEVER] * 2, banded=[NEVER] * 2, sharp=[NEVER] * 2)
    lines = headline(analyse(records))
    assert lines == [
        "No verdict: 2 seeds, 5 are needed. By estimate the fastest in epochs: full ×4 on 2 of 2 tasks "
        "(1.72x to 2.1x).",
        "Slower than full attention by estimate: banded(5) on 1 of 2 tasks (at most 0.41x).",
        "No run of any attention reached the target on listops.",
    ]
    page = Page(report_page(records)).text.replace("\u00a0", " ")
    assert "2 seeds, no verdict; best estimate full ×4 1.72x" in " ".join(page.split())
    assert "Nobody is judged faster or slower" in page
    assert not re.search(r"fastest\s*banded", page)


def test_the_headline_says_who_is_slower_and_counts_tasks_that_somebody_learned() -> None:
    records = stepped("even_pairs", full=[30, 31, 32, 33, 34], top_k=[10, 11, 10, 11, 10], banded=[NEVER] * 5)
    records += stepped("listops", full=[NEVER] * 5, top_k=[NEVER] * 5, banded=[NEVER] * 5)
    lines = headline(analyse(records))
    assert lines == [
        "Task by task, learned in fewer epochs than full attention: top_k(5) on 1 of 1 task (even_pairs: 3x).",
        "In more epochs: banded(5) on 1 of 1 task (even_pairs: at most 0.53x).",
        "No run of any attention reached the target on listops.",
    ]


def test_the_fastest_is_who_has_the_largest_estimate() -> None:
    unsure = [1, 59, 2, 59, 3]
    records = stepped("even_pairs", full=[40, 47, 58, 44, 50], top_k=[20, 22, 30, 21, 24], sharp=unsure)
    text = " ".join(Page(report_page(records)).text.replace("\u00a0", " ").split())
    assert "clearly faster top_k(5) 2.1x" in text
    assert "fastest top_k(5)" not in text
    without = [record for record in records if "sharp" not in record["run"]]
    assert "fastest top_k(5) 2.1x" in " ".join(Page(report_page(without)).text.replace("\u00a0", " ").split())


def test_estimates_of_an_arm_span_all_its_tasks() -> None:
    records = stepped("even_pairs", full=[40, 44, 42, 46, 48], top_k=[10, 11, 10, 11, 10])
    records += stepped("parity", full=[40, 44, 42, 46, 48], top_k=[50, 30, 44, 40, 59])
    (score,) = scores(analyse(records))
    assert (score.on("faster"), score.on("unclear")) == (["even_pairs"], ["parity"])
    assert score.span() == "0.95x to 4.2x"


def test_the_small_numbers_of_a_row_stand_in_the_order_of_the_seeds() -> None:
    records = stepped("even_pairs", full=[40, 44, NEVER], top_k=[10, 11, 12])
    del records[4]  # seed 1 of top_k
    summary = analyse(records)[0]
    table = task_table(summary)
    assert (
        table.legend == "Small numbers: seeds 0, 1, 2, in this order; \N{EN DASH} where there is no such run."
    )
    full, top_k = ([cell.seeds for cell in row.cells] for row in table.rows)
    assert (full[0], top_k[0]) == ("40 44 >60", "10 \N{EN DASH} 12")
    assert len(top_k[3].split()) == len(top_k[4].split()) == len(top_k[5].split()) == 3
    assert table.legend in Page(report_page(records)).text
    assert "seeds 0, 1, 2, in this order" in report_text(records)


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
