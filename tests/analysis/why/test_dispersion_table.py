"""The table of dispersions: its numbers are those of the theory."""

import pytest

from semfocus.analysis.why.dispersion_table import (
    OWN,
    PUBLISHED,
    SAME_SCORES,
    dispersion_table,
    num_passing,
)
from semfocus.theory import lhs_w, lhs_x
from tests.analysis.why.planted import record, row, tasks_of


def rows_of(full: float, topk: float, separation: float, load: float) -> tuple[list, list]:
    other = {"pattern": "top_k(5)", "counterfactual": True}
    kept = {"dispersion": topk, "separation": separation, "key_load": load}
    return (
        [row("dispersion", full), *(row(name, value / 2, **other) for name, value in kept.items())],
        [row(name, value) for name, value in kept.items()],
    )


def test_own_models_and_the_same_scores_give_the_left_hand_sides_of_the_theory() -> None:
    full, topk = rows_of(8.0, 3.0, 0.5, 2.0)
    tasks = tasks_of(
        [record("cycle_navigation", "full", 1, 10, full), record("cycle_navigation", "top_k(5)", 1, 5, topk)]
    )
    own, same = dispersion_table(tasks)
    assert (own.source, same.source) == (OWN, SAME_SCORES)
    assert [column["quantile"] for column in own.columns] == [75, 90, 95, 100]
    assert own.columns[0]["published"]["lhs_w"] == pytest.approx(float(lhs_w(8.0, 3.0, 0.5)))
    assert own.columns[0]["published"]["lhs_x"] == pytest.approx(float(lhs_x(8.0, 3.0, 0.5, 2.0)))
    assert same.columns[0]["published"]["lhs_w"] == pytest.approx(float(lhs_w(8.0, 1.5, 0.25)))
    nulls = [column["null_c1"] for column in own.columns]
    assert nulls[:3] == pytest.approx([0.257, 0.299, 0.325], abs=0.01), "each at its own quantile"
    assert nulls == [column["null_c1"] for column in same.columns]
    assert num_passing([own], "published", "w") == (4, 4)
    assert num_passing([own], "exact", "b") == (0, 4)


def test_the_extremes_are_those_over_all_seeds_and_the_others_medians() -> None:
    records = []
    for seed, scale in ((1, 1.0), (2, 2.0), (3, 6.0)):
        full, topk = rows_of(8.0 * scale, 3.0 * scale, 0.5 * scale, 2.0)
        records += [record("parity", "full", seed, 10, full), record("parity", "top_k(5)", seed, 5, topk)]
    own = dispersion_table(tasks_of(records))[0]
    by_quantile = {column["quantile"]: column for column in own.columns}
    assert (by_quantile[75]["dispersion_full"], by_quantile[75]["separation"]) == (16.0, 1.0)
    assert (by_quantile[100]["dispersion_full"], by_quantile[100]["separation"]) == (48.0, 0.5)


def test_published_numbers_stand_beside_where_they_exist_and_give_the_published_left_hand_side() -> None:
    full, topk = rows_of(8.0, 3.0, 0.5, 2.0)
    records = [record("listops", "full", 1, 10, full), record("listops", "top_k(5)", 1, 5, topk)]
    published = [each for each in dispersion_table(tasks_of(records)) if each.source == PUBLISHED]
    assert published[0].columns[0]["published"]["lhs_w"] == pytest.approx(0.970289, abs=1e-6)
    assert not [each for each in dispersion_table(tasks_of(records), "start") if each.source == PUBLISHED]


def test_scores_without_any_dispersion_are_told_not_divided() -> None:
    full, topk = rows_of(0.0, 0.0, 0.5, 2.0)
    found = dispersion_table(
        tasks_of([record("parity", "full", 1, 10, full), record("parity", "top_k(5)", 1, 5, topk)])
    )
    assert all(each.problem for each in found if each.source == OWN)
