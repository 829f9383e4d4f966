"""Constants of a whole attention layer in W, V and X, on random layers and on the constructions that reach them."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import (
    lambda_x_global,
    lambda_x_pointwise,
    log_lambda_w,
    log_lambda_x_global,
    log_lambda_x_pointwise,
    log_lambda_x_published,
    row_stats,
    topk_support,
)
from tests.theory.search import ROUNDING, searched, softmax


def attend(
    X: np.ndarray, W: np.ndarray, V: np.ndarray, kept: np.ndarray | None = None, k: int | None = None
) -> tuple:
    """(outputs with tokens as columns, scores with queries as rows, kept, weights)"""
    scores = np.swapaxes(X, -1, -2) @ np.swapaxes(W, -1, -2) @ X
    if kept is None:
        kept = np.ones(scores.shape, bool) if k is None else topk_support(scores, k)
    weights = softmax(scores, kept)
    return V @ X @ np.swapaxes(weights, -1, -2), scores, kept, weights


def spectral(matrix: np.ndarray) -> np.ndarray:
    return np.linalg.norm(matrix, 2, axis=(-2, -1))


def token_norms(X: np.ndarray) -> np.ndarray:
    return np.linalg.norm(X, axis=-2)


def layers(rng: np.random.Generator, num: int, scale: float) -> tuple:
    d, length = int(rng.integers(1, 5)), int(rng.integers(2, 9))
    X = rng.normal(size=(num, d, length))
    # Few directions and equal norms make layers on which the bounds are nearly met.
    X = np.where(rng.random((num, 1, 1)) < 0.5, X / token_norms(X)[:, None], X)
    return X, scale * rng.normal(size=(num, d, d)), rng.normal(size=(num, d, d))


def stats_of(*pairs: tuple) -> tuple:
    """Dispersion, separation and largest in-degree of each layer over both ends and all queries."""
    found = [row_stats(scores, kept) for _, scores, kept, _ in pairs]
    dispersion = np.max([each["dispersion"].max(-1) for each in found], 0)
    separation = np.min([each["separation"].min(-1) for each in found], 0)
    return dispersion, separation, np.max([each["in_degree"].max(-1) for each in found], 0)


scales = st.sampled_from([0.0, 0.1, 1.0, 4.0])
steps = st.sampled_from([1e-4, 0.05, 1.0])


@searched(scale=scales, step=steps, k=st.one_of(st.none(), st.integers(1, 4)))
def test_no_change_of_w_exceeds_its_constants(
    rng: np.random.Generator, num: int, scale: float, step: float, k: int | None
) -> None:
    X, W, V = layers(rng, num, scale)
    moved = W + step * rng.normal(size=W.shape)
    if k is not None and rng.random() < 0.5:
        # As many tokens at either end of a line as are kept, and all order reversed: the constant is nearly met.
        line = X[:, :, :1] / token_norms(X)[:, None, :1]
        X = line * rng.permuted(np.repeat([[1.0, -1.0]], num, 0).repeat(k, 1), axis=1)[:, None]
        W, V = (scale + 0.01) * line @ np.swapaxes(line, 1, 2), np.broadcast_to(np.eye(X.shape[1]), W.shape)
        moved = -W
    one, two = attend(X, W, V, k=k), attend(X, moved, V, k=k)
    changed = token_norms(one[0] - two[0]).max(-1)
    dispersion, separation, _ = stats_of(one, two)
    length = X.shape[-1]
    sep = None if k is None or k >= length else separation
    for kind in ("published", "exact"):
        scale_of = spectral(V), token_norms(X).max(-1)
        limit = np.exp(log_lambda_w(*scale_of, dispersion, min(k or length, length), sep, kind=kind))
        assert (changed <= limit * spectral(W - moved) * ROUNDING + 1e-9).all(), kind


def test_the_constant_in_w_is_attained() -> None:
    value, token, gap = 1.7, 1.3, 0.4
    X = token * np.array([[1.0, 1, 1, -1, -1, -1], [0] * 6])
    flat, step = np.zeros((2, 2)), 1e-6 * np.diag([1.0, 0])
    V = value * np.eye(2)
    slope = token_norms(attend(X, step, V)[0] - attend(X, flat, V)[0]).max() / 1e-6
    exact = np.exp(log_lambda_w(value, token, 0.0, 6, kind="exact"))
    assert exact == pytest.approx(3.7349)
    assert slope / exact == pytest.approx(1, abs=1e-6)

    W = gap / (2 * token**2) * np.diag([1.0, 0])
    change = token_norms(attend(X, W, V, k=3)[0] - attend(X, -W, V, k=3)[0]).max() / spectral(2 * W)
    exact = np.exp(log_lambda_w(value, token, 0.0, 3, gap, kind="exact"))
    assert exact == pytest.approx(18.6745)
    assert change / exact == pytest.approx(1, abs=1e-12)


@searched(scale=scales, step=steps)
def test_the_constant_in_v_is_the_token_norm(
    rng: np.random.Generator, num: int, scale: float, step: float
) -> None:
    X, W, V = layers(rng, num, scale)
    moved = V + step * rng.normal(size=V.shape)
    changed = token_norms(attend(X, W, V, k=2)[0] - attend(X, W, moved, k=2)[0]).max(-1)
    assert (changed <= token_norms(X).max(-1) * spectral(V - moved) * ROUNDING).all()


def few_tokens(rng: np.random.Generator, X: np.ndarray, step: float) -> np.ndarray:
    """X with one token moved, or all of them."""
    only = np.arange(X.shape[-1]) == rng.integers(0, X.shape[-1], (len(X), 1))
    chosen = only | (rng.random((len(X), 1)) < 0.3)
    return X + step * chosen[:, None] * rng.normal(size=X.shape)


@searched(
    scale=scales, step=steps, mask=st.sampled_from(["full", "fixed", "top_k", "causal"]), k=st.integers(1, 4)
)
def test_no_change_of_x_exceeds_the_global_constant(
    rng: np.random.Generator, num: int, scale: float, step: float, mask: str, k: int
) -> None:
    X, W, V = layers(rng, num, scale)
    length = X.shape[-1]
    k = min(k, length)
    moved = few_tokens(rng, X, step)
    kept = None
    if mask == "fixed":
        kept = topk_support(rng.random((num, length, length)), k)
    if mask == "causal":  # rows of several sizes have no single n: covered by the pointwise bound below
        return
    one, two = (attend(x, W, V, kept, k if mask == "top_k" else None) for x in (X, moved))
    changed = token_norms(one[0] - two[0]).sum(-1)
    dispersion, separation, most = stats_of(one, two)
    n = length if mask == "full" else k
    sep = separation if mask == "top_k" and k < length else None
    norm = np.maximum(token_norms(X).max(-1), token_norms(moved).max(-1))
    arguments = spectral(V), spectral(W), norm, n, dispersion, most, sep
    limit = lambda_x_global(*arguments) * token_norms(X - moved).sum(-1)
    assert (changed <= limit * ROUNDING + 1e-9).all()
    if sep is not None:
        close = separation <= 1
        beta = most / k
        limit = np.exp(log_lambda_x_published(*arguments[:3], dispersion, sep, beta))
        assert (changed <= limit * token_norms(X - moved).sum(-1) * ROUNDING + 1e-9)[close].all(), "published"


@searched(scale=scales, mask=st.sampled_from(["full", "fixed", "causal"]))
def test_no_slope_in_x_exceeds_the_pointwise_constant(
    rng: np.random.Generator, num: int, scale: float, mask: str
) -> None:
    X, W, V = layers(rng, num, scale)
    length = X.shape[-1]
    kept = {
        "full": np.ones((length, length), bool),
        "fixed": topk_support(rng.random((length, length)), 2),
        "causal": np.tri(length, dtype=bool),
    }[mask]
    kept = np.broadcast_to(kept, (num, length, length))
    step = 1e-6 * few_tokens(rng, np.zeros_like(X), 1.0)
    up, down = attend(X + step, W, V, kept), attend(X - step, W, V, kept)
    slope = token_norms(up[0] - down[0]).sum(-1) / np.maximum(token_norms(2 * step).sum(-1), 1e-300)
    mass = attend(X, W, V, kept)[3].sum(-2).max(-1)
    limit = lambda_x_pointwise(spectral(V), spectral(W), token_norms(X).max(-1), mass)
    assert (slope <= limit * (1 + 1e-5) + 1e-6).all()


@pytest.mark.parametrize(("g", "excess"), [(10, 1.070), (40, 1.099)])
def test_the_published_constant_in_x_fails_for_a_small_measured_dispersion(g: float, excess: float) -> None:
    X = np.array([[1.0, 1, -1, -1, -1, -1, -1, -1], [0] * 8])
    W, V = g * np.array([[0.0, 1], [1, 0]]), np.eye(2)
    moved = X.copy()
    moved[1, 0] += 1e-4
    one, two = attend(X, W, V), attend(moved, W, V)
    ratio = token_norms(one[0] - two[0]).sum() / token_norms(X - moved).sum()
    dispersion = stats_of(one, two)[0]
    published = np.exp(log_lambda_x_published(1.0, g, token_norms(moved).max(), dispersion))
    assert ratio / published == pytest.approx(excess, abs=1e-3)
    mass = max(each[3].sum(-2).max() for each in (one, two))
    assert ratio <= lambda_x_pointwise(1.0, g, token_norms(moved).max(), mass) * (1 + 1e-3)
    assert ratio <= lambda_x_global(1.0, g, token_norms(moved).max(), 8, dispersion, 8)
    a_priori = np.exp(log_lambda_x_published(1.0, g, 1.0, 2.0 * g))
    assert ratio <= a_priori


def test_logarithms_and_values_agree() -> None:
    assert log_lambda_x_pointwise(1.5, 0.25, 2.0, 1.8) == pytest.approx(math.log(9.6))
    found = log_lambda_x_global(1.5, 0.25, 2.0, 5, 1.0, 8, 0.5)
    assert found == pytest.approx(math.log(lambda_x_global(1.5, 0.25, 2.0, 5, 1.0, 8, 0.5)))


def test_zero_norms_and_infinite_constants() -> None:
    assert log_lambda_w(0.0, 1.0, 1.0, 5, 0.0, kind="exact") == -math.inf, "no value matrix, no change"
    assert log_lambda_w(1.0, 1.0, 1.0, 5, 0.0, kind="exact") == math.inf
    assert log_lambda_w(1.0, 1.0, 1.0, 5, 0.0, kind="published") == math.inf
    assert log_lambda_w(1.0, 1.0, 1000.0, 5, kind="published") == 1000
    assert log_lambda_w(1.0, 1.0, 1.0, 5, math.inf, kind="exact") == 0
    assert lambda_x_global(1.0, 0.0, 1.0, 5, 1.0, 8, 0.0) == pytest.approx(8 * math.e / (math.e + 4))
    assert lambda_x_global(1.0, 1.0, 1.0, 5, 1.0, 8, 0.0) == math.inf
    assert log_lambda_x_global(1.0, 1.0, 1e300, 5, 900.0, 8) > 1000
    assert lambda_x_pointwise(1.0, 1e300, 1e10, 1.0) == math.inf
    assert log_lambda_w(1.0, np.ones((4, 1)), np.ones(3), 5, kind="exact").shape == (4, 3)


def test_a_key_load_below_one_is_computed_with_a_warning() -> None:
    with pytest.warns(UserWarning, match=r"beta is 0.2, but the largest key load is at least 1"):
        assert math.isfinite(log_lambda_x_published(1.0, 1.0, 1.0, 1.0, 0.5, 0.2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fixed = log_lambda_x_published(1.0, 0.25, 2.0, 1.0, beta=1.6)
    assert fixed == pytest.approx(1 + math.log(1.6 + 2.6))


def test_nonsense_is_named() -> None:
    with pytest.raises(ValueError, match="kind must be 'published' or 'exact', got 'best'"):
        log_lambda_w(1.0, 1.0, 1.0, 5, kind="best")
    with pytest.raises(ValueError, match="value_norm must be at least 0"):
        log_lambda_w(-1.0, 1.0, 1.0, 5, kind="exact")
    with pytest.raises(ValueError, match="a separation needs beta"):
        log_lambda_x_published(1.0, 1.0, 1.0, 1.0, 0.5)
    with pytest.raises(ValueError, match="col_mass must not be NaN"):
        lambda_x_pointwise(1.0, 1.0, 1.0, math.nan)
    with pytest.raises(ValueError, match="in_degree_max must be an integer"):
        lambda_x_global(1.0, 1.0, 1.0, 5, 1.0, 8.0)
