"""The constants of a softmax over a fixed support: no pair exceeds them, some reach them, the published one
fails where said.
"""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import critical_dispersion, largest_softmax_change, log_xi_exact, log_xi_published
from tests.theory.search import ROUNDING, bounded, dispersions, moves, searched, softmax

ORDERS = {"11": (1, 1), "22": (2, 2), "inf1": (math.inf, 1)}
sizes = st.integers(1, 13)


def ratios(first: np.ndarray, second: np.ndarray, norm: str) -> np.ndarray:
    """Change of the weights over change of the scores; moves that rounding has eaten are left out."""
    enters, leaves = ORDERS[norm]
    moved = np.linalg.norm(first - second, enters, -1)
    changed = np.linalg.norm(softmax(first) - softmax(second), leaves, -1)
    return changed[moved > 1e-7] / moved[moved > 1e-7]


@searched(n=sizes, delta=dispersions, move=moves, norm=st.sampled_from(["11", "22", "inf1"]))
def test_no_pair_exceeds_the_exact_constants(
    rng: np.random.Generator, num: int, n: int, delta: float, move: float, norm: str
) -> None:
    first, second = bounded(rng, num, n, delta, move)
    assert np.ptp(first, axis=-1).max() <= delta + 1e-9
    assert np.ptp(second, axis=-1).max() <= delta + 1e-9
    limit = np.exp(log_xi_exact(delta + 1e-9, n, norm))
    assert (ratios(first, second, norm) <= limit * ROUNDING + 1e-8).all()


def slow_constant(delta: float, n: int, norm: str) -> float:
    """The largest Jacobian norm over the corners of the cube and one free coordinate on them, by trying all."""
    best = 0.0
    for high in range(n):
        for free in np.linspace(0, delta, 60):
            scores = np.array([delta] * high + [0.0] * (n - 1 - high) + [free])
            p = softmax(scores)
            jacobian = np.diag(p) - np.outer(p, p)
            if norm == "inf1":
                signs = np.array(np.meshgrid(*[[-1, 1]] * n)).reshape(n, -1)
                best = max(best, np.abs(jacobian @ signs).sum(0).max())
            else:
                best = max(best, np.linalg.norm(jacobian, int(norm[0])))
    return best


@pytest.mark.parametrize("norm", ORDERS)
@pytest.mark.parametrize("n", [2, 3, 5, 6])
@pytest.mark.parametrize("delta", [0.0, 0.2, 1.0, 3.0])
def test_the_exact_constants_are_reached(norm: str, n: int, delta: float) -> None:
    found = slow_constant(delta, n, norm) / np.exp(log_xi_exact(delta, n, norm))
    assert 0.995 <= found <= ROUNDING


@searched(n=sizes, delta=dispersions, move=moves)
def test_the_published_constant_holds_in_l2(
    rng: np.random.Generator, num: int, n: int, delta: float, move: float
) -> None:
    found = ratios(*bounded(rng, num, n, delta, move), "22")
    assert (found <= np.exp(log_xi_published(delta, n)) * ROUNDING + 1e-8).all()


@searched(n=st.integers(2, 40), above=st.floats(0, 3), move=moves)
def test_the_published_constant_holds_in_l1_from_the_critical_dispersion_on(
    rng: np.random.Generator, num: int, n: int, above: float, move: float
) -> None:
    delta = max(0.0, float(critical_dispersion(n))) + above
    found = ratios(*bounded(rng, num, n, delta, move), "11")
    assert (found <= np.exp(log_xi_published(delta, n)) * ROUNDING + 1e-8).all()
    assert log_xi_exact(delta, n, "11") <= log_xi_published(delta, n) + 1e-12


@pytest.mark.parametrize(("n", "move", "excess"), [(5, 0.05, 1.5448), (40, 0.05, 1.8996), (40, 1.0, 1.1819)])
def test_the_published_constant_fails_in_l1_below_it(n: int, move: float, excess: float) -> None:
    first = np.zeros(n)
    second = np.eye(n)[0] * move
    found = ratios(first[None], second[None], "11")[0]
    published = np.exp(log_xi_published(move, n))
    assert found / published == pytest.approx(excess, abs=5e-5)
    assert found <= np.exp(log_xi_exact(move, n, "11"))
    assert move < critical_dispersion(n)


@pytest.mark.parametrize("n", [3, 5, 40, 600])
def test_the_two_constants_cross_at_the_critical_dispersion(n: int) -> None:
    at = critical_dispersion(n)
    assert log_xi_exact(at, n, "11") == pytest.approx(log_xi_published(at, n), abs=1e-12)
    assert log_xi_exact(at - 0.01, n, "11") > log_xi_published(at - 0.01, n)


@searched(n=st.integers(1, 20), eta=st.floats(1e-3, 20))
def test_finite_moves_stay_below_tanh(rng: np.random.Generator, num: int, n: int, eta: float) -> None:
    first = rng.normal(size=(num, n)) * rng.choice([0.1, 1, 10], (num, 1))
    second = first + eta * rng.choice([-1, 1, 0.5], (num, n))
    changed = np.abs(softmax(first) - softmax(second)).sum(-1)
    assert (changed <= largest_softmax_change(eta) * ROUNDING).all()


def test_tanh_is_reached_by_two_keys() -> None:
    changed = np.abs(softmax(np.array([-0.5, 0.5])) - softmax(np.array([0.5, -0.5]))).sum()
    assert changed == pytest.approx(largest_softmax_change(1.0))


def test_extremes_and_broadcasting() -> None:
    assert log_xi_exact(math.inf, 5, "11") == pytest.approx(math.log(0.5))
    assert log_xi_exact(math.inf, 5, "22") == pytest.approx(math.log(0.5))
    assert log_xi_exact(math.inf, 5, "inf1") == 0
    assert [log_xi_exact(3.0, 1, norm) for norm in ORDERS] == [-math.inf] * 3
    assert log_xi_published(1.0, 5, math.inf) == log_xi_published(1.0, 5)
    assert log_xi_published(1.0, 5, 0.0) == log_xi_published(1.0, 5, -1.0) == math.inf
    assert log_xi_published(math.inf, 5) == math.inf
    assert critical_dispersion(1) == -math.inf
    assert critical_dispersion(2) == 0
    table = log_xi_exact(np.array([[0.0], [1.0]]), np.array([2, 5, 40]), "11")
    assert table.shape == (2, 3)
    assert table[1, 1] == log_xi_exact(1.0, 5, "11")
    assert log_xi_exact(np.float32(1.0), np.int16(5), "22").dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-0.1, 5), "delta must be at least 0, got -0.1"),
        ((math.nan, 5), "delta must not be NaN"),
        (("wide", 5), "delta must be a number or an array of numbers, got 'wide'"),
        ((1.0, 0), "n must be at least 1, got 0"),
        ((1.0, 5.0), "n must be an integer, got 5.0"),
        ((1.0, True), "n must be an integer, got True"),
        ((1.0, 5, math.nan), "sep must not be NaN"),
    ],
)
def test_nonsense_is_named(arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        log_xi_published(*arguments)
    if len(arguments) == 2:
        with pytest.raises(ValueError, match=message):
            log_xi_exact(*arguments, "11")


def test_an_unknown_norm_is_named() -> None:
    with pytest.raises(ValueError, match="norm must be one of 11, 22, inf1, got '12'"):
        log_xi_exact(1.0, 5, "12")
