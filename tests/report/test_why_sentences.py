"""The section "Why?" word by word, on planted measurements whose quantiles differ from each other and from their mean."""

from typing import Any

import pytest

from semfocus.analysis.contrasts import analyse
from semfocus.analysis.overview import arm_groups
from semfocus.report.markdown import report_text
from semfocus.report.pages.study_page import report_page
from semfocus.report.palette import inks
from semfocus.report.why import why_sections
from tests.analysis.why.planted import EPOCHS, NEVER, TASKS, record, row

SEEDS = (1, 2, 3)
Rows = list[dict[str, Any]]
#: task -> dispersion of top_k(5) over full's at 75 % (own models, same scores), share left of it query by query, speedup
PLANTED = {
    TASKS[0]: (1.1, 0.7, 0.3, 2),
    TASKS[1]: (0.4, 0.6, 0.5, 4),
    TASKS[2]: (0.45, 0.5, 0.6, 10),
    TASKS[3]: (0.35, 1.2, 0.7, 16),
}
#: arm -> epochs to target, effective keys, gradient norm of query and key weights
ARMS = {("full", 1.0): (80, 30.0, 1.0), ("full", 10.0): (20, 12.0, 4.0), ("banded(5)", 1.0): (90, 40.0, 0.5)}
#: k -> epochs to target where they are the same on every task, last held-out accuracy, effective keys
SIZES = {1: (10, 0.9, 3.0), 5: (0, 0.95, 9.0), 9: (60, 0.7, 5.0)}
#: median dispersion of top-k for each kept key: below that of full on two tasks, above on two
LESS = {TASKS[0]: 0.1, TASKS[1]: 0.1, TASKS[2]: 3.0, TASKS[3]: 3.0}
#: of sharper full attention
SHARPER = {TASKS[0]: 0.01, TASKS[1]: 0.01, TASKS[2]: 50.0, TASKS[3]: 50.0}


def uneven(middle: float, upper: float, mean: float | None = None) -> dict[str, Any]:
    """Quantiles and mean, no two of them the same."""
    low = {"0": middle / 16, "5": middle / 8, "10": middle / 4, "25": middle / 2, "50": middle}
    high = {"75": upper, "90": 1.5 * upper, "95": 2 * upper, "100": 3 * upper}
    return {"value": low | high, "mean": 0.77 * middle if mean is None else mean}


def both(quantity: str, spread: dict[str, Any], **more: Any) -> Rows:
    return [row(quantity, epoch=epoch, **spread, **more) for epoch in (0, EPOCHS)]


def full_rows(task: str, keys: float, gradient: float) -> Rows:
    _, same, share, _ = PLANTED[task]
    other = {"pattern": "top_k(5)", "counterfactual": True}
    place = list(PLANTED).index(task)
    return [
        *both("dispersion", uneven(1.0, 10.0)),
        *both("effective_keys", uneven(keys, 3 * keys)),
        *both("gradient_norm_query_key", uneven(gradient, 2 * gradient)),
        *both("dispersion", uneven(9.0, 10 * same), **other),
        *both("dispersion_ratio", uneven(0.41, 0.9, mean=share), null=0.4, **other),
        *both("separation", uneven(0.2, 0.4), **other),
        *both("key_load", uneven(1.2, 1.5), **other),
        *both("dispersion", uneven(1.0, 2.0 + place), layer=0, head=0),
        *both("score_norm", uneven(1.0, 7.0, mean=0.5), layer=0, head=0),
        *both("token_norm", uneven(2.0, 1.0), layer=0),
    ]


def top_k_rows(task: str, k: int) -> Rows:
    own, *_ = PLANTED[task]
    keys = SIZES[k][-1]
    return [
        *both("dispersion", uneven(k * LESS[task], 10 * own if k == 5 else 100.0)),
        *both("separation", uneven(1.0 / k, 3.0 / k)),
        *both("key_load", uneven(1.5, 2.0)),
        *both("mask_agreement_0.01", uneven(0.5, 0.6, mean=1 - k / 100)),
        *both("effective_keys", uneven(keys, 3 * keys)),
        *both("gradient_norm_query_key", uneven(20.0 / k, 40.0)),
    ]


def study(tasks: tuple[str, ...] = tuple(PLANTED)) -> Rows:
    records = []
    for task in tasks:
        for seed in SEEDS:
            for (pattern, temperature), (epochs, keys, gradient) in ARMS.items():
                rows = full_rows(task, keys, gradient)
                if (pattern, temperature) != ("full", 1.0):
                    rows = [each for each in rows if not each["counterfactual"] and each["layer"] is None]
                if temperature > 1:
                    rows = [each for each in rows if each["quantity"] != "dispersion"]
                    rows += both("dispersion", uneven(SHARPER[task], 60.0))
                records.append(record(task, pattern, seed, epochs, rows, temperature=temperature))
            for k, (epochs, accuracy, _) in SIZES.items():
                reached = 80 / PLANTED[task][-1] if k == 5 else epochs
                rows = top_k_rows(task, k)
                records.append(record(task, f"top_k({k})", seed, reached, rows, held_out=accuracy))
    return records


def blocks(records: Rows) -> list[Any]:
    summaries = analyse(records)
    (why,) = why_sections(summaries, inks(arm_groups(summaries)))
    return why.blocks


@pytest.fixture(scope="module")
def said() -> list[list[str]]:
    return [block.says for block in blocks(study())]


def test_dispersion_and_bounds(said: list[list[str]]) -> None:
    counted = "of the 16 pairs of task and quantile, top-k has the smaller constant in W on so many: by the published bound"
    assert said[0] == [
        f"Own models: {counted} 12, by its sharper form 12, by exact constants, route A 0, by exact constants, route B 0.",
        f"Same scores: {counted} 11, by its sharper form 12, by exact constants, route A 0, by exact constants, route B 0.",
        "Own models: the ratio of dispersions at 75 % is 0.35 to 1.10; noise of one size has 0.26.",
        "Same scores: the ratio of dispersions at 75 % is 0.50 to 1.20; noise of one size has 0.26. Query by query, top-k leaves 0.30 to 0.70 of the dispersion "
        "(medians over seeds) and 0.40 of that of noise with the query's own mean and spread: less than of noise on 1 of 4 tasks.",
    ]


def test_ratio_and_speedup(said: list[list[str]]) -> None:
    """At 50 % instead of 75 %, every count would be another one."""
    small = "has a smaller dispersion than full after training: own models on"
    assert said[1] == [
        f"top_k(1) {small} 0 of 4 tasks.",
        f"top_k(5) {small} 3 of 4 tasks, same scores on 3 of 4 tasks (query by query, it leaves a smaller share than of noise on 1 of 4); "
        "rank correlations with the speedup -0.67 to +0.00.",
        f"top_k(9) {small} 0 of 4 tasks.",
        f"banded(5) {small} 0 of 4 tasks.",
    ]


def test_what_orders_the_arms(said: list[list[str]]) -> None:
    assert said[2] == [
        "Of 3 quantities, nearest to an order of the arms comes the gradient norm of query and key weights: "
        "-0.88 (95 % interval -0.97 to -0.80; 177 pairs of known order, 3 unknown).",
        "Less of it goes with sooner learning (interval above 0): effective number of attended keys.",
        "More of it goes with sooner learning (interval below 0): gradient norm of query and key weights.",
        "No order can be told (interval includes 0): dispersion of the scores.",
    ]


def test_few_tasks_order_nothing() -> None:
    """Two tasks, however many seeds: no interval, and no sentence that would need one."""
    (only,) = blocks(study(tuple(PLANTED)[:2]))[2].says
    assert only.endswith(
        "-0.97 (no interval: 2 tasks, at least 4 are needed; 87 pairs of known order, 3 unknown)."
    )


def test_masks(said: list[list[str]]) -> None:
    assert said[3] == [
        f"{words}, trained, and epochs to target: rank correlation over k -0.67 (-1.00 to -0.33), over temperature unknown."
        for words in ("Kept keys that stay (1 % noise)", "Separation (median)")
    ]


def test_sweep_over_k(said: list[list[str]]) -> None:
    best = "best held-out accuracy at k = 5 (95.0%)"
    assert sorted(said[4]) == [
        f"cycle_navigation: fastest at k = 5 (16x [15.8, 20]); {best}; dispersion 3 at k = 1, 27 at k = 9.",
        f"even_pairs: fastest at k = 1 (8x [7.9, 8.9]); {best}; dispersion 0.1 at k = 1, 0.9 at k = 9.",
        f"missing_duplicate: fastest at k = 1 (8x [7.9, 8.9]); {best}; dispersion 0.1 at k = 1, 0.9 at k = 9.",
        f"parity: fastest at k = 5 (10x [9.9, 11.4]); {best}; dispersion 3 at k = 1, 27 at k = 9.",
    ]


def test_break_conditions(said: list[list[str]]) -> None:
    """Means of the share of kept keys stand at 0.95, their medians at 0.5."""
    assert said[5] == [
        "“The dispersion of top-k is not clearly below that of full attention”: of 4 tasks met on 1, not met on 3, undecided on 0.",
        "“The task needs many dispersed signals, so that keeping few keys costs expressivity”: of 4 tasks met on 0, not met on 0, undecided on 4.",
        "“Scores are nearly uniform, so that the choice of keys flips under small perturbations”: of 4 tasks met on 0, not met on 4, undecided on 0.",
        *(
            f"Full attention, {when}: the largest dispersion of a layer is 60% to 150% of its worst case, 105% in the median."
            for when in ("untrained", "after training")
        ),
    ]


def test_lines_of_judgement_are_named() -> None:
    assert "(0.5 and 0.8, 2%, 90%)" in blocks(study())[5].says_not


def swept(last: float) -> Rows:
    """Full attention never arrives; top_k(9) does at the last epoch, so its speedup is at least 1, as is every share."""
    records = [record("parity", "full", seed, NEVER, [row("dispersion", 8.0)]) for seed in SEEDS]
    for seed in SEEDS:
        for k, reached in ((1, 50), (3, 80), (9, EPOCHS)):
            rows = [row("mask_agreement_0.01", 1.0)] + [row("dispersion", float(k))] * (k > 1)
            records.append(record("parity", f"top_k({k})", seed, reached, rows, last=last))
    return records


def test_only_speedups_can_lie_beyond_their_mark() -> None:
    """A triangle (a path that is closed) stands for `at least`; an accuracy of 1 is a plain dot."""
    sweep = next(block for block in blocks(swept(1.0)) if block.question.startswith("How few"))
    triangles = [
        sum(row["bound"] is not None for row in panel.rows.to_dicts()) for panel in sweep.figures[0].panels
    ]
    assert triangles == [3, 0, 0, 0, 0]
    assert sweep.says == [
        "parity: fastest at k = 1 (at least 2x [2, ∞]), unless at k = 3 (at least 1.25x [1.25, ∞]) or k = 9 (at least 1x [1, ∞]); "
        "best held-out accuracy at k = 1 (100.0%); dispersion 3 at k = 3, 9 at k = 9."
    ], "what has no upper end may be faster, and k = 1 has no dispersion"


def deeper(records: Rows) -> Rows:
    """The same at another depth, on one seed."""
    return [
        each
        | {
            "run": f"deep-{each['run']}",
            "spec": each["spec"] | {"model": each["spec"]["model"] | {"num_blocks": 2}},
        }
        for each in records
        if each["spec"]["seed"] == SEEDS[0]
    ]


def test_comparisons_that_are_not_tested_are_named() -> None:
    records = study()
    summaries = analyse([*records, *deeper(study(tuple(PLANTED)[:1]))])
    (why,) = why_sections(summaries, inks(arm_groups(summaries)))
    assert why.not_tested.startswith(
        "Left out, since another comparison of the task has more runs that were looked into: even_pairs at other than the paper's: "
    )
    assert why.not_tested.endswith("(6 runs).")
    assert "num_blocks 2" in why.not_tested
    text = report_text([*records, *deeper(study(tuple(PLANTED)[:1]))])
    assert text.count("Left out, since another comparison") > 1, "in the section and beside claims"
    assert "Left out, since another comparison" in report_page([*records, *deeper(study(tuple(PLANTED)[:1]))])
    assert "Left out, since" not in report_text(records)
