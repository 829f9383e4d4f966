"""Rates and stability of SGD: the schedule against a plain double loop, limits, and which bound is below which."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import hrs_bound, sgd_iterations, sgd_rate, stability_schedule
from tests.theory.search import searched


def plain_schedule(
    steps: list[float], L_grad: float, L_pair: float, beta: float, n: int, M: float, batch: int
) -> tuple:
    found = []
    for t0 in range(len(steps) + 1):
        total = M * min(1.0, batch * t0 / n)
        for t in range(t0, len(steps)):
            growth = math.prod(1 + (1 - 1 / n) * beta * each for each in steps[t + 1 :])
            total += L_pair * 2 * steps[t] * L_grad / n * growth
        found.append(total)
    best = int(np.argmin(found))
    return min(M, found[best]), best


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize("seed", range(5))
def test_the_schedule_equals_a_plain_double_loop(seed: int, batch: int) -> None:
    rng = np.random.default_rng(seed)
    steps = list(rng.exponential(0.3, 30))
    given = {
        "L_grad": rng.exponential(),
        "L_pair": rng.exponential(),
        "beta": rng.exponential(),
        "n": 50,
        "M": 2.0,
        "batch": batch,
    }
    bound, t0 = stability_schedule(steps, **given)
    expected, at = plain_schedule(steps, **given)
    assert bound == pytest.approx(expected)
    assert t0 == at


@searched(beta=st.floats(0.01, 20), c=st.floats(0.01, 5), steps=st.integers(1, 400), n=st.integers(2, 5000))
def test_the_schedule_is_never_above_the_bound_for_steps_c_over_t(
    rng: np.random.Generator, num: int, beta: float, c: float, steps: int, n: int
) -> None:
    sizes = c / np.arange(1, steps + 1)
    for lipschitz in 10 ** rng.uniform(-2, 1.5, max(1, num // 10)):
        bound, t0 = stability_schedule(sizes, lipschitz, lipschitz, beta, n)
        assert 0 <= bound <= hrs_bound(lipschitz, beta, c, steps, n) * (1 + 1e-9)
        assert 0 <= t0 <= steps


def test_extremes_of_the_stability_bounds() -> None:
    assert hrs_bound(1.0, 0.0, 0.25, 1000, 5000) == 1, (
        "no growth: the limit is infinite, and the loss at most 1"
    )
    assert hrs_bound(1.0, 1e-9, 0.25, 1000, 5000, M=3) == 3
    assert hrs_bound(0.0, 2.0, 0.25, 1000, 5000) == 0
    assert hrs_bound(1e9, 2.0, 0.25, 1000, 5000, M=2) == 2
    assert stability_schedule([], 1, 1, 1, 10) == (0.0, 0)
    assert stability_schedule([0.0, 0.0], 1, 1, 1, 10) == (0.0, 0)
    bound, t0 = stability_schedule([1.0] * 5000, 1, 1, 10.0, 10_000)
    assert bound <= 1
    assert math.isfinite(bound)
    assert t0 > 4000, "the growth of thousands of steps is infinite, and avoided"
    with pytest.raises(ValueError, match="n must be at least 2"):
        hrs_bound(1, 1, 1, 10, 1)
    with pytest.raises(ValueError, match="steps must be at least 0"):
        stability_schedule([-0.1], 1, 1, 1, 10)


def test_infinities_and_zeros_are_numbers_and_never_nan() -> None:
    """Section 9: never raise on inf. A factor of 0 wins: what does not move is not enlarged."""
    inf = math.inf
    assert hrs_bound(1e200, 2, 0.25, 1000, 5000) == hrs_bound(inf, 2, 0.25, 1000, 5000) == 1
    assert hrs_bound(1, 2, 0.25, 1000, 5000, inf) == inf, "a loss without a limit has a bound without one"
    assert hrs_bound(inf, inf, 0.25, 10, 101) == pytest.approx(0.1), "the power of the constant is 0"
    assert stability_schedule([0.1] * 3, 0.0, inf, 1, 10) == (0.0, 0)
    assert stability_schedule([0.1] * 3, inf, 0.0, 1, 10) == (0.0, 0)
    assert stability_schedule([0.1] * 3, inf, 1.0, 1, 10) == (pytest.approx(0.3), 3), "all is burn-in"
    bound, t0 = stability_schedule([0.0, 0.1], 1.0, 1.0, inf, 10)
    assert (bound, t0) == (pytest.approx(0.02), 0), "a step of 0 grows nothing"
    assert stability_schedule([0.1], 1.0, 1.0, inf, 1)[0] == pytest.approx(0.2)
    assert stability_schedule([0.1], 1.0, 1.0, 0.0, 10, inf) == (pytest.approx(0.02), 0)
    assert sgd_rate(inf, 0, 1, 10) == sgd_rate(0, inf, 1, 10) == sgd_rate(inf, 1, 0, 10) == 0
    assert sgd_iterations(inf, 0, 1, 0.1) == sgd_iterations(0, inf, 1, 1e-200) == 0
    assert sgd_rate(inf, 1, 1, 10) == sgd_iterations(1e200, 1, 1, 1e-200) == inf


def test_rates_and_iterations_are_inverse() -> None:
    steps = sgd_iterations(2.0, 3.0, 0.7, 0.1)
    assert sgd_rate(2.0, 3.0, 0.7, round(float(steps))) == pytest.approx(0.1**2, rel=1e-3)
    assert sgd_iterations(4.0, 3.0, 0.7, 0.1) == pytest.approx(4 * steps), (
        "twice the constant, four times the steps"
    )
    assert sgd_rate(np.ones((2, 1)), 1.0, 1.0, np.array([1, 10, 100])).shape == (2, 3)
    with pytest.raises(ValueError, match="T must be at least 1"):
        sgd_rate(1, 1, 1, 0)
    with pytest.raises(ValueError, match="eps must be greater than 0"):
        sgd_iterations(1, 1, 1, 0)


@pytest.mark.filterwarnings("error")
def test_a_sum_that_overflows_is_infinite_without_a_warning() -> None:
    """Single steps that add 1e308 each: their sum is more than any loss, and no word of numpy's reaches a report."""
    assert stability_schedule([1e300] * 4, 1e4, 1e4, 0.0, 2, M=3.0) == (3.0, 4)
