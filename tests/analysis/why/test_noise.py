"""Shares of the dispersion that a pattern leaves, against noise."""

import pytest

from semfocus.analysis.why.ratio import left_over, less_than_of_noise
from tests.analysis.why.planted import record, row, tasks_of


def planted(shares: list[float], null: float | None) -> list:
    other = {"pattern": "top_k(5)", "counterfactual": True, "null": null}
    quantiles = dict.fromkeys(("0", "5", "10", "25", "50", "75", "90", "95", "100"), 9.0)
    return tasks_of(
        [
            record("parity", "full", seed, 10, [row("dispersion_ratio", quantiles, **other, mean=share)])
            for seed, share in enumerate(shares)
        ]
    )


def test_means_are_held_against_means_seed_by_seed() -> None:
    (task,) = planted([0.3, 0.5, 0.2], 0.4)
    left = left_over(task, "top_k(5)", "end")
    assert {seed: each.of_noise for seed, each in left.items()} == pytest.approx({0: 0.75, 1: 1.25, 2: 0.5})
    assert less_than_of_noise(left)
    (task,) = planted([0.5, 0.3, 0.45], 0.4)
    assert not less_than_of_noise(left_over(task, "top_k(5)", "end")), "two seeds of three are above"


def test_without_a_null_nothing_is_said() -> None:
    (task,) = planted([0.3], None)
    assert left_over(task, "top_k(5)", "end") == {}
    assert left_over(task, "top_k(5)", "start") == {}
