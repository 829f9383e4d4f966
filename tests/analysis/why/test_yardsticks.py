"""Which quantity orders the arms."""

from semfocus.analysis.why.yardsticks import yardsticks
from tests.analysis.why.planted import NEVER, TASKS, both, record, tasks_of

#: arm -> epochs to target, effective keys, dispersion
ARMS = {
    ("full", 1.0): (64, 16.0, 1.0),
    ("full", 4.0): (32, 8.0, 4.0),
    ("full", 10.0): (8, 2.0, 10.0),
    ("top_k(5)", 1.0): (16, 4.0, 0.5),
}


def planted(more: dict | None = None, tasks: tuple[str, ...] = ("even_pairs", "parity")) -> list[dict]:
    records = []
    for (pattern, temperature), (epochs, keys, dispersion) in (ARMS | (more or {})).items():
        for task in tasks:
            for seed in (1, 2, 3):
                rows = [*both("effective_keys", keys), *both("dispersion", dispersion)]
                late = epochs * (1 if task == "parity" else 0.5)
                records.append(record(task, pattern, seed, late, rows, temperature=temperature))
    return records


def test_the_quantity_that_was_planted_to_order_the_arms_comes_first() -> None:
    best, other = yardsticks(tasks_of(planted()))
    assert (best.quantity, best.correlation.value) == ("effective_keys", 1.0)
    assert (best.correlation.low, best.correlation.num_clusters) == (None, 2), "two tasks give no interval"
    assert other.quantity == "dispersion"
    assert -1 < other.correlation.value < 0


def test_seeds_of_one_task_give_no_interval_and_four_tasks_do() -> None:
    (one,) = {each.correlation.low for each in yardsticks(tasks_of(planted(tasks=("parity",))))}
    assert one is None
    best, _ = yardsticks(tasks_of(planted(tasks=TASKS[:4])))
    assert (best.correlation.low, best.correlation.high, best.correlation.num_clusters) == (1.0, 1.0, 4)


def test_a_fixed_pattern_with_few_keys_that_never_learns_breaks_the_order_and_is_told_apart() -> None:
    best = yardsticks(tasks_of(planted({("banded(5)", 1.0): (NEVER, 1.0, 0.2)})))
    keys = next(each for each in best if each.quantity == "effective_keys")
    assert keys.correlation.value == (6 - 4) / 10
    assert keys.choosing.value == 1.0


def test_arms_that_a_quantity_cannot_tell_apart_count_against_it() -> None:
    twin = {("full", 30.0): (4, 16.0, 30.0)}  # as many keys as plain full attention, learns first of all
    keys = next(each for each in yardsticks(tasks_of(planted(twin))) if each.quantity == "effective_keys")
    assert keys.correlation.value == (6 - 3 + 0) / 10
