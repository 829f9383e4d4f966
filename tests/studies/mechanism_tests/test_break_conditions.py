"""The three break conditions and the worst case."""

import pytest

from semfocus.studies.mechanism_tests.break_conditions import break_conditions
from semfocus.studies.mechanism_tests.worst_case import worst_cases
from studies.mechanism_tests.planted import EPOCHS, record, row, tasks_of


def planted(ratios: list[float], trains: list[float], held_outs: list[float], stays: list[float]) -> list:
    records = []
    for seed, (ratio, train, held_out, stay) in enumerate(zip(ratios, trains, held_outs, stays, strict=True)):
        rows = [row("dispersion", 10.0), row("focus_chance", 0.25)]
        records.append(record("parity", "full", seed, 10, rows))
        own = [row("dispersion", 10 * ratio), row("mask_agreement_0.01", stay)]
        records.append(record("parity", "top_k(5)", seed, 10, own, last=train, held_out=held_out))
    return tasks_of(records)


def verdicts(tasks) -> list[str]:
    return [condition.tasks[0].verdict for condition in break_conditions(tasks)]


def test_each_condition_is_judged_by_its_own_numbers() -> None:
    assert verdicts(planted([0.4, 0.5], [1.0, 0.99], [0.99, 1.0], [0.95, 0.9])) == ["not met"] * 3
    assert verdicts(planted([0.8, 0.9], [0.9, 0.97], [0.5, 0.5], [0.89, 0.5])) == ["met"] * 3
    assert verdicts(planted([0.4, 0.9], [1.0, 0.5], [1.0, 1.0], [0.95, 0.5])) == ["undecided"] * 3


def test_a_lower_held_out_accuracy_alone_is_undecided() -> None:
    assert verdicts(planted([0.4] * 2, [1.0] * 2, [0.9] * 2, [1.0] * 2))[1] == "undecided"


def test_the_ratio_of_noise_stands_beside_that_of_the_models() -> None:
    """Scores that know nothing are not met too: the reader must see it, at the very quantile and length."""
    condition = break_conditions(planted([0.257, 0.26], [1.0] * 2, [1.0] * 2, [1.0] * 2))[0]
    assert condition.tasks[0].verdict == "not met"
    assert condition.tasks[0].numbers == "top_k(5) over full 0.26, 0.26 (noise of one size 0.26)"
    assert "scores that know nothing have one too" in condition.rule


def test_one_seed_decides_nothing() -> None:
    assert verdicts(planted([0.4], [1.0], [1.0], [1.0])) == ["undecided"] * 3


def test_the_numbers_tell_how_many_tokens_decide_and_nothing_is_said_without_them() -> None:
    conditions = break_conditions(planted([0.4] * 2, [1.0] * 2, [1.0] * 2, [1.0] * 2))
    assert "about 10 tokens decide" in conditions[1].tasks[0].numbers
    without = tasks_of([record("parity", "full", 1, 10, [row("dispersion", 10.0)])])
    assert [condition.tasks for condition in break_conditions(without)] == [[], [], []]


def test_the_share_of_the_worst_case_counts_the_bias_as_a_feature() -> None:
    rows = [
        row("dispersion", 5.0, layer=0, head=0),
        row("score_norm", 0.5, layer=0, head=0),
        row("token_norm", 3.0, layer=0),
    ]
    (case,) = worst_cases(tasks_of([record("parity", "full", 1, 10, rows)]), "end")
    assert case.limit == 2 * 0.5 * (9 + 1)
    assert case.shares == {1: pytest.approx(0.5)}
    assert worst_cases(tasks_of([record("parity", "full", 1, 10, rows)]), "start") == []
    assert EPOCHS == 100
