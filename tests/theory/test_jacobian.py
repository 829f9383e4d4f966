"""Norms of the softmax Jacobian against NumPy on the matrix itself, and the inequalities between them."""

import itertools

import numpy as np
import pytest
from hypothesis import strategies as st

from semfocus.theory import jacobian_norms, local_constants
from tests.theory.search import ROUNDING, searched


def weights(rng: np.random.Generator, num: int, n: int, sharpness: float) -> np.ndarray:
    p = rng.dirichlet(np.full(n, sharpness), num)
    p[rng.random(p.shape) < 0.1] = 0
    p[:, 0] += p.sum(-1) == 0
    return p / p.sum(-1, keepdims=True)


@searched(n=st.integers(1, 9), sharpness=st.sampled_from([0.05, 0.5, 1.0, 50.0]))
def test_equals_the_norms_of_the_matrix(rng: np.random.Generator, num: int, n: int, sharpness: float) -> None:
    p = weights(rng, num, n, sharpness)
    found = jacobian_norms(p)
    matrices = np.eye(n) * p[:, None] - p[:, :, None] * p[:, None]
    np.testing.assert_allclose(found["11"], np.linalg.norm(matrices, 1, (1, 2)), atol=1e-12)
    np.testing.assert_allclose(found["22"], np.linalg.norm(matrices, 2, (1, 2)), atol=1e-12)
    np.testing.assert_allclose(found["fro"], np.linalg.norm(matrices, "fro", (1, 2)), atol=1e-12)
    np.testing.assert_allclose(found["gini"], np.trace(matrices, axis1=1, axis2=2), atol=1e-12)
    signs = np.array(list(itertools.product([-1, 1], repeat=n))).T
    np.testing.assert_allclose(found["inf1_lo"], np.abs(matrices @ signs).sum(1).max(-1), atol=1e-12)
    np.testing.assert_array_equal(found["inf1_lo"], found["inf1_hi"])


@searched(n=st.integers(1, 60), sharpness=st.sampled_from([0.05, 1.0, 50.0]))
def test_inequalities(rng: np.random.Generator, num: int, n: int, sharpness: float) -> None:
    p = weights(rng, num, n, sharpness)
    ranked = -np.sort(-np.pad(p, ((0, 0), (0, 1))), -1)
    found = jacobian_norms(p)
    assert (found["11"] <= 0.5).all()
    assert ((p * (1 - p)).max(-1) <= found["22"] + 1e-12).all()
    assert (found["22"] <= found["22_upper"] + 1e-12).all()
    assert (found["22_upper"] <= 0.5 + 1e-12).all()
    assert (ranked[:, 1] <= found["22"] + 1e-12).all()
    assert (found["22"] <= ranked[:, 0] + 1e-12).all()
    assert (found["inf1_lo"] <= found["inf1_hi"] + 1e-12).all()
    assert (found["inf1_hi"] <= ROUNDING).all()


def test_the_bracket_holds_the_enumerated_value(monkeypatch: pytest.MonkeyPatch) -> None:
    p = weights(np.random.default_rng(0), 500, 8, 0.7)
    exact = jacobian_norms(p)["inf1_lo"]
    monkeypatch.setattr(local_constants, "ENUMERATED", 2)
    found = jacobian_norms(p)
    assert (found["inf1_lo"] <= exact + 1e-12).all()
    assert (exact <= found["inf1_hi"] + 1e-12).all()
    peaked = p.max(-1) >= 0.5
    assert (found["inf1_lo"] == found["inf1_hi"])[peaked].all()
    assert 0 < peaked.sum() < 500


def test_nearly_one_key_keeps_its_digits() -> None:
    """To first order in ε the Jacobian of (1 - ε, ε) is ε (1, -1; -1, 1)."""
    epsilon = 1e-13
    found = jacobian_norms([1 - epsilon, epsilon])
    expected = {"11": 2, "22": 2, "22_upper": 2, "inf1_lo": 4, "inf1_hi": 4, "fro": 2, "gini": 2}
    for name, factor in expected.items():
        assert found[name] == pytest.approx(factor * epsilon, rel=1e-3), name


def test_twenty_and_six_hundred_keys() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(20), 3)
    assert jacobian_norms(p)["inf1_lo"] == pytest.approx([1, 1, 1], abs=1e-6)
    long = np.random.default_rng(0).dirichlet(np.ones(600))
    matrix = np.diag(long) - np.outer(long, long)
    assert jacobian_norms(long)["22"] == pytest.approx(np.linalg.eigvalsh(matrix)[-1], rel=1e-9)
    assert jacobian_norms(np.ones((2, 3, 4)) / 4)["11"].shape == (2, 3)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([0.5, 0.4], "p must sum to 1, got a sum of 0.9"),
        ([1.5, -0.5], "p must be at least 0"),
        ([0.5, float("nan")], "p must not be NaN"),
        ([], "at least one entry"),
    ],
)
def test_nonsense_is_named(p: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        jacobian_norms(p)
    assert jacobian_norms([0.5, 0.5 + 9e-7])["11"] > 0
