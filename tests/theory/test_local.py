"""Local quantities: the exact differential, what bounds it, jumps, gaps and the null model."""

import math

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import (
    attended_cov,
    attended_diameter,
    average_topk_slope,
    flip_jump,
    gap_density,
    gaussian_null,
    gaussian_null_at,
    lambda_w_local,
    top_p_jump,
    topk_support,
    width_jump,
)
from tests.theory.search import ROUNDING, searched, softmax
from tests.theory.test_attention import attend


def test_the_differential_is_v_cov_dw_x() -> None:
    rng = np.random.default_rng(0)
    X, W, V, dW = (
        rng.normal(size=(4, 6)),
        rng.normal(size=(4, 4)),
        rng.normal(size=(4, 4)),
        rng.normal(size=(4, 4)),
    )
    step = 1e-6
    slope = (attend(X, W + step * dW, V)[0] - attend(X, W - step * dW, V)[0]) / (2 * step)
    weights = attend(X, W, V)[3]
    expected = [V @ attended_cov(X, p) @ dW @ X[:, at] for at, p in enumerate(weights)]
    np.testing.assert_allclose(slope.T, expected, atol=1e-8)


def test_the_local_constant_is_reached_by_the_best_direction() -> None:
    rng = np.random.default_rng(1)
    X, W, V = rng.normal(size=(3, 5)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    p = attend(X, W, V)[3][2]
    direction = np.linalg.svd(V @ attended_cov(X, p))[2][0]
    dW = np.outer(direction, X[:, 2] / np.linalg.norm(X[:, 2]))
    step = 1e-6
    slope = (attend(X, W + step * dW, V)[0] - attend(X, W - step * dW, V)[0])[:, 2] / (2 * step)
    assert np.linalg.norm(slope) == pytest.approx(lambda_w_local(X, p, V, X[:, 2]), rel=1e-7)


@searched(d=st.integers(1, 5), length=st.integers(1, 8), sharpness=st.sampled_from([0.1, 1.0, 5.0]))
def test_no_local_constant_exceeds_the_diameter_or_the_worst_case(
    rng: np.random.Generator, num: int, d: int, length: int, sharpness: float
) -> None:
    X, V, query = rng.normal(size=(num, d, length)), rng.normal(size=(num, d, d)), rng.normal(size=(num, d))
    p = rng.dirichlet(np.full(length, sharpness), num)
    kept = p > 1e-12
    local = lambda_w_local(X, p, V, query)
    scale = np.linalg.norm(V, 2, axis=(1, 2)) * np.linalg.norm(query, axis=-1)
    widths = np.array([attended_diameter(x, flags) for x, flags in zip(X, kept, strict=True)])
    assert (local <= scale * widths**2 / 4 * ROUNDING + 1e-9).all()
    token = np.linalg.norm(X, axis=1).max(-1)
    assert (local <= scale * token**2 * ROUNDING).all()
    assert (widths <= 2 * token * ROUNDING).all()


@searched(d=st.integers(1, 4), length=st.integers(2, 8), k=st.integers(1, 4))
def test_the_full_covariance_holds_its_share_of_the_kept_one(
    rng: np.random.Generator, num: int, d: int, length: int, k: int
) -> None:
    X, scores = rng.normal(size=(num, d, length)), rng.normal(size=(num, length))
    kept = topk_support(scores, k)
    full = softmax(scores)
    share = np.where(kept, full, 0).sum(-1)
    rest = attended_cov(X, full) - share[:, None, None] * attended_cov(X, softmax(scores, kept))
    assert np.linalg.eigvalsh(rest).min() >= -1e-10


def test_a_flip_is_the_difference_at_the_tie() -> None:
    rng = np.random.default_rng(2)
    X, V = rng.normal(size=(3, 4)), rng.normal(size=(3, 3))
    scores = np.array([1.0, 0.3, 0.3, -1.0])
    before, after = softmax(scores, [True, True, False, False]), softmax(scores, [True, False, True, False])
    jump = np.linalg.norm(V @ X @ (before - after))
    assert flip_jump(before[1], V, X[:, 1], X[:, 2]) == pytest.approx(jump)
    assert np.abs(before - after).sum() == pytest.approx(2 * before[1])


def width_support(scores: np.ndarray, width: float) -> np.ndarray:
    return scores >= scores.max(-1, keepdims=True) - width


@searched(n=st.integers(2, 12), width=st.floats(0.01, 12))
def test_a_flip_at_the_edge_of_a_width_is_small(
    rng: np.random.Generator, num: int, n: int, width: float
) -> None:
    scores = rng.normal(size=(num, n)) * rng.choice([0.1, 1, 5], (num, 1))
    scores[:, 0] = scores[:, 1:].max(-1) - width
    kept = width_support(scores, width)
    kept[:, 0] = True
    without = kept & (np.arange(n) != 0)
    changed = np.abs(softmax(scores, kept) - softmax(scores, without)).sum(-1)
    assert (changed <= width_jump(width) * ROUNDING + 1e-12).all()
    two = np.array([0.0, -width])
    exact = np.abs(softmax(two) - np.array([1.0, 0])).sum()
    assert exact == pytest.approx(width_jump(width))


def top_p_support(scores: np.ndarray, share: float) -> np.ndarray:
    full = softmax(scores)
    order = np.argsort(-full, -1, kind="stable")
    before = np.cumsum(np.take_along_axis(full, order, -1), -1) - np.take_along_axis(full, order, -1)
    kept = np.zeros(scores.shape, bool)
    np.put_along_axis(kept, order, before < share, -1)
    return kept


@searched(n=st.integers(1, 12), share=st.floats(0.05, 1), eta=st.sampled_from([0.0, 1e-3, 0.1, 2.0]))
def test_top_p_needs_no_separation(
    rng: np.random.Generator, num: int, n: int, share: float, eta: float
) -> None:
    first = rng.normal(size=(num, n)) * rng.choice([0.1, 1, 5], (num, 1))
    second = first + eta * rng.choice([-1.0, 1.0], (num, n))
    kept, kept_too = top_p_support(first, share), top_p_support(second, share)
    changed = np.abs(softmax(first, kept) - softmax(second, kept_too)).sum(-1)
    assert (changed <= 2 * np.tanh(eta / 2) + top_p_jump(share) + 1e-9).all()


def test_the_mean_slope_of_top_k_stays_below_the_average_case_bound() -> None:
    rng = np.random.default_rng(0)
    null = gaussian_null(40, 5, 20_000)
    eta = 1e-3
    scores = rng.normal(size=(20_000, 40))
    moved = scores + eta * np.where(topk_support(scores, 5), -1.0, 1.0)
    one, two = (softmax(each, topk_support(each, 5)) for each in (scores, moved))
    slope = np.abs(one - two).sum(-1).mean() / eta
    assert 3 < slope < average_topk_slope(null["rho0"], 5)


def test_gap_density_counts_small_gaps() -> None:
    gaps = np.arange(1, 101) / 100
    assert gap_density(gaps, 0.1) == pytest.approx(1.0)
    assert gap_density(gaps) == pytest.approx(0.05 / 0.05)
    assert gap_density([*gaps, *[math.inf] * 100], 0.1) == pytest.approx(0.5)
    assert gap_density([math.inf] * 5) == 0
    assert gap_density([0.0] * 10 + [1.0]) == math.inf
    exponential = np.random.default_rng(0).exponential(1 / 8, 200_000)
    assert gap_density(exponential) == pytest.approx(8, rel=0.05)
    for bad, message in (([], "at least one"), ([math.nan], "NaN")):
        with pytest.raises(ValueError, match=message):
            gap_density(bad)
    with pytest.raises(ValueError, match="t must be greater than 0"):
        gap_density(gaps, 0.0)


@pytest.mark.parametrize(
    ("length", "k", "full", "topk", "c1", "gap", "random"),
    [
        (40, 5, 4.32, 0.957, 0.222, 0.121, 2.33),
        (40, 9, 4.32, 1.365, 0.316, 0.083, 2.97),
        (600, 5, 6.18, 0.657, 0.106, 0.072, 2.33),
        (600, 9, 6.19, 0.905, 0.146, 0.043, 2.97),
    ],
)
def test_the_null_model(
    length: int, k: int, full: float, topk: float, c1: float, gap: float, random: float
) -> None:
    found = gaussian_null(length, k, 4000)
    expected = {"delta_full": full, "delta_topk": topk, "c1": c1, "separation": gap, "delta_random": random}
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=0.04), name
    assert found["c1_random"] == pytest.approx(random / full, rel=0.04)
    assert found["rho0"] == pytest.approx(1 / gap, rel=0.25), "small gaps are nearly exponential"
    assert found == gaussian_null(length, k, 4000)
    assert found != gaussian_null(length, k, 4000, seed=1)


def test_the_null_model_at_a_quantile_is_that_of_the_same_rows() -> None:
    scores = np.random.default_rng(0).standard_normal((4000, 16))
    kept = np.sort(scores, axis=1)[:, -5:]
    found = gaussian_null_at(16, 5, 75, 4000)
    full, topk = np.percentile(np.ptp(scores, axis=1), 75), np.percentile(np.ptp(kept, axis=1), 75)
    gap = np.percentile(kept[:, 0] - np.sort(scores, axis=1)[:, -6], 25)
    expected = {
        "delta_full": full,
        "delta_topk": topk,
        "c1": topk / full,
        "separation": gap,
        "c2": gap / full,
    }
    assert found == pytest.approx(expected)
    assert found["c1"] == pytest.approx(0.377, abs=0.01)
    assert gaussian_null_at(5, 9, 75, 50) == {
        **gaussian_null_at(5, 5, 75, 50),
        "c1": 1.0,
        "separation": math.inf,
    }
    with pytest.raises(ValueError, match="quantile must be from 0 to 100, got 101"):
        gaussian_null_at(16, 5, 101)


def test_the_null_model_without_choice() -> None:
    everything = gaussian_null(5, 9, 50)
    assert everything["c1"] == everything["c1_random"] == 1
    assert everything["separation"] == math.inf
    assert everything["rho0"] == 0
    assert gaussian_null(1, 1, 50)["delta_full"] == 0
    assert gaussian_null(8, 1, 50)["c1"] == 0
    with pytest.raises(ValueError, match="k must be at least 1"):
        gaussian_null(5, 0)


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_infinite_tokens_are_refused(infinite: float) -> None:
    """inf - inf would be NaN."""
    token, weights = [infinite, 0.0], [0.5, 0.5]
    X = np.array([token, token]).T
    for name, call in {
        "x_k": lambda: flip_jump(0.5, np.eye(2), token, token),
        "x_k1": lambda: flip_jump(0.5, np.eye(2), [0.0, 0.0], token),
        "V": lambda: flip_jump(0.5, np.array([token, token]), [1.0, 0.0], [1.0, 0.0]),
        "X": lambda: attended_cov(X, weights),
        "x_q": lambda: lambda_w_local(np.eye(2), weights, np.eye(2), token),
    }.items():
        with pytest.raises(ValueError, match=f"^{name} must be finite"):
            call()
    with pytest.raises(ValueError, match=r"^X must be finite"):
        attended_diameter(X, np.ones(2, bool))


def test_nonsense_is_named() -> None:
    X = np.ones((2, 3))
    with pytest.raises(ValueError, match="p must sum to 1"):
        attended_cov(X, [0.5, 0.2, 0.2])
    with pytest.raises(ValueError, match=r"X must be \(..., d, L\) and p \(..., L\)"):
        attended_cov(X, [0.5, 0.5])
    with pytest.raises(ValueError, match="support boolean"):
        attended_diameter(X, [True, False])
    with pytest.raises(ValueError, match="p_last must be a weight"):
        flip_jump(1.2, np.eye(2), [0, 1], [1, 0])
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\]"):
        top_p_jump(1.1)
    assert attended_diameter(X, np.zeros(3, bool)) == 0
    assert attended_diameter(np.array([[0.0, 3], [0, 4]]), np.ones(2, bool)) == 5
