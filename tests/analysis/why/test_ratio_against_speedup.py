"""The ratio of dispersions against the speedup: planted orders are found, planted contradictions too."""

import pytest

from semfocus.analysis.why.ratio import ratio_tests
from tests.analysis.why.planted import NEVER, SEEDS, TASKS, both, record, tasks_of


def planted(ratios: list[float], speedups: list[float]) -> list[dict]:
    """On task number i, top-k has that ratio of dispersions and that speedup over full, which needs 80 epochs."""
    records = []
    for task, ratio, speedup in zip(TASKS, ratios, speedups, strict=True):
        for seed in SEEDS:
            other = {"pattern": "top_k(5)", "counterfactual": True}
            full = [*both("dispersion", 10.0), *both("dispersion", 10.0 * (1 - ratio), **other)]
            full += both("dispersion_ratio", 1 - ratio, null=0.25, **other)
            records.append(record(task, "full", seed, 80, full))
            records.append(record(task, "top_k(5)", seed, 80 / speedup, both("dispersion", 10.0 * ratio)))
    return records


RATIOS = [0.1, 0.2, 0.3, 0.4, 0.45]


def test_smaller_ratios_with_larger_speedups_are_a_correlation_of_minus_one() -> None:
    tests = ratio_tests(tasks_of(planted(RATIOS, [16, 8, 4, 2, 1.25])))
    assert {(test.label, test.when, test.same_scores) for test in tests} == {
        ("top_k(5)", when, same) for when in ("start", "end") for same in (False, True)
    }
    own = next(test for test in tests if not test.same_scores and test.when == "end")
    assert [point.ratio for point in sorted(own.points, key=lambda each: each.ratio)] == pytest.approx(RATIOS)
    assert own.correlation.value == -1.0
    assert (own.correlation.low, own.correlation.high) == (-1.0, -1.0)
    same = next(test for test in tests if test.same_scores and test.when == "end")
    assert same.correlation.value == 1.0, "planted the other way round"
    assert {left.null for point in same.points for left in point.left.values()} == {0.25}
    shares = sorted(point.left[SEEDS[0]].share for point in same.points)
    assert shares == pytest.approx([1 - each for each in RATIOS[::-1]])
    assert not any(point.left for point in own.points), "noise is put under the same scores alone"


def test_a_planted_contradiction_turns_the_sign() -> None:
    own = ratio_tests(tasks_of(planted(RATIOS, [1.25, 2, 4, 8, 16])))[0]
    assert own.correlation.value == 1.0


def test_tasks_that_full_never_learns_count_as_far_as_their_order_is_known() -> None:
    records = planted(RATIOS, [16, 8, 4, 2, 1.25])
    censored = [
        record(each["spec"]["task"], "full", each["spec"]["seed"], NEVER, each.measured("inside"))
        if each["spec"]["task"] == TASKS[0] and each["spec"]["pattern"] == "full"
        else each
        for each in records
    ]
    own = ratio_tests(tasks_of(censored))[0]
    assert [point.task for point in own.points if point.speedup.at_least] == [TASKS[0]]
    assert (own.correlation.value, own.correlation.num_unknown) == (-1.0, 0)
