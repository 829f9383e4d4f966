"""Masks against learning over k and over temperature, and the sweep over k."""

import pytest

from semfocus.analysis.why.masks import mask_tests
from semfocus.analysis.why.sweep import sweeps_over_k
from tests.analysis.why.planted import both, record, row, tasks_of


def planted() -> list[dict]:
    """More separated masks learn sooner over k, and later over temperature."""
    records = [record("parity", "full", seed, 60, both("dispersion", 8.0)) for seed in range(4)]
    for seed in range(4):
        for k, epochs, separation in ((1, 10, 0.9), (3, 20, 0.5), (9, 40, 0.1)):
            for temperature, factor in ((1.0, 1.0), (4.0, 2.0)):
                rows = [
                    *both("separation", separation * factor),
                    *both("mask_agreement_0.01", separation),
                    *both("dispersion", float(k)),
                ]
                records.append(
                    record("parity", f"top_k({k})", seed, epochs * factor, rows, temperature=temperature)
                )
    return records


def test_orders_over_k_and_over_temperature_are_told_apart() -> None:
    found = {(test.quantity, test.when): test for test in mask_tests(tasks_of(planted()))}
    separation = found["separation", "end"]
    assert separation.over_k.value == -1.0
    assert separation.over_temperature.value == 1.0
    stays = found["mask_agreement_0.01", "start"]
    assert (stays.over_k.value, stays.over_temperature.value) == (-1.0, 0.0)


def test_a_sweep_has_a_step_for_every_size_of_plain_top_k() -> None:
    (sweep,) = sweeps_over_k(tasks_of(planted()))
    assert [(step.k, step.dispersion) for step in sweep.steps] == [(1, 1.0), (3, 3.0), (9, 9.0)]
    assert [step.speedup.ratio for step in sweep.steps] == pytest.approx([6.0, 3.0, 1.5])


def test_all_keys_kept_have_no_separation_and_two_sizes_are_no_sweep() -> None:
    nothing = {"50": None}
    rows = [row("separation", nothing, num=0, num_infinite=4), row("dispersion", 2.0)]  # type: ignore[arg-type]
    records = [*planted(), *(record("parity", "top_k(40)", seed, 60, rows) for seed in range(4))]
    (sweep,) = sweeps_over_k(tasks_of(records))
    assert (sweep.steps[-1].k, sweep.steps[-1].separation) == (40, None)
    few = [each for each in planted() if each["spec"]["pattern"] != "top_k(9)"]
    assert sweeps_over_k(tasks_of(few)) == []
