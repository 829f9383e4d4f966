"""The three break conditions and the worst case."""

import re

import pytest

from semfocus.analysis.claims.evidence import FEWEST_MEASURED
from semfocus.analysis.why.break_conditions import FEWEST_SEEDS, break_conditions
from semfocus.analysis.why.worst_case import worst_cases
from tests.analysis.why.planted import EPOCHS, record, row, tasks_of


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
    near = planted([0.4, 0.42, 0.4], [1.0, 0.999, 1.0], [0.999, 1.0, 1.0], [0.95, 0.951, 0.95])
    assert verdicts(near) == ["not met"] * 3
    far = planted([0.88, 0.9, 0.9], [0.9, 0.91, 0.9], [0.5] * 3, [0.51, 0.5, 0.5])
    assert verdicts(far) == ["met"] * 3
    mixed = planted([0.4, 0.9, 0.4], [1.0, 0.5, 1.0], [1.0] * 3, [0.95, 0.5, 0.95])
    assert verdicts(mixed) == ["undecided"] * 3


@pytest.mark.parametrize(
    ("num", "dispersion", "separation"),
    [(6, "undecided", "undecided"), (8, "not met", "undecided"), (10, "not met", "not met")],
)
def test_one_seed_beyond_a_limit_weighs_less_among_more(num: int, dispersion: str, separation: str) -> None:
    """By hand, the limit is the 1st, 6th and 25th from the far side of the means of subsets: the outlier,
    with one other, with two.

    Dispersion: 0.62, sqrt(0.62 x 0.3) = 0.43. Separation: 0.8, (0.8 + 0.97) / 2 = 0.885, (0.8 + 2 x 0.97) / 3 = 0.913.
    """
    others = num - 1
    ratios, stays = [0.62, *[0.3] * others], [0.8, *[0.97] * others]
    found = verdicts(planted(ratios, [1.0] * num, [1.0] * num, stays))
    assert found == [dispersion, "not met", separation]


def test_each_reads_the_number_that_its_rule_names() -> None:
    """The 75 % quantile of dispersions and the mean share of kept keys, not their medians."""
    quantiles = dict.fromkeys(("0", "5", "10", "25", "50", "75", "90", "95", "100"), 5.0)
    records = []
    for seed in range(3):
        records.append(record("parity", "full", seed, 10, [row("dispersion", quantiles | {"75": 10.0})]))
        own = [row("dispersion", quantiles | {"75": 3.0})]
        own.append(row("mask_agreement_0.01", quantiles | {"50": 0.2}, mean=0.97))
        records.append(record("parity", "top_k(5)", seed, 10, own))
    dispersion, _, separation = break_conditions(tasks_of(records))
    assert dispersion.tasks[0].numbers.startswith("top_k(5) over full 0.30, 0.30, 0.30 ")
    assert separation.tasks[0].numbers == "top_k(5) keeps 97.0%, 97.0%, 97.0%"
    assert (dispersion.tasks[0].verdict, separation.tasks[0].verdict) == ("not met", "not met")


def test_a_lower_held_out_accuracy_alone_is_undecided() -> None:
    assert verdicts(planted([0.4] * 3, [1.0] * 3, [0.9] * 3, [1.0] * 3))[1] == "undecided"


def test_the_ratio_of_noise_stands_beside_that_of_the_models() -> None:
    """Scores that know nothing are not met too: the reader must see it, at the very quantile and length."""
    condition = break_conditions(planted([0.257, 0.26, 0.26], [1.0] * 3, [1.0] * 3, [1.0] * 3))[0]
    assert condition.tasks[0].verdict == "not met"
    assert re.findall(r"\d\.\d+", condition.tasks[0].numbers) == ["0.26"] * 4, "three seeds, and noise"


def test_two_seeds_decide_nothing_here_nor_in_claims() -> None:
    assert verdicts(planted([0.4] * 2, [1.0] * 2, [1.0] * 2, [1.0] * 2)) == ["undecided"] * 3
    assert FEWEST_SEEDS == FEWEST_MEASURED == 3


def test_the_numbers_tell_how_many_tokens_decide_and_nothing_is_said_without_them() -> None:
    conditions = break_conditions(planted([0.4] * 2, [1.0] * 2, [1.0] * 2, [1.0] * 2))
    assert "10 tokens" in conditions[1].tasks[0].numbers
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
