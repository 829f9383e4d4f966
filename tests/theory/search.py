"""Pairs of score vectors made to come close to the bounds, and how many of them a search looks at."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

#: examples of Hypothesis times pairs an example: a few hundred, or in the slow tier at least 20,000
TIERS = {"fast": (12, 40), "slow": (60, 400)}
assert TIERS["slow"][0] * TIERS["slow"][1] >= 20_000

ROUNDING = 1 + 1e-9


def searched(**strategies: st.SearchStrategy) -> Callable:
    """A test that runs in both tiers: Hypothesis draws the parameters, `rng` and `num` make the pairs."""

    def decorate(check: Callable) -> Callable:
        @pytest.mark.parametrize("tier", ["fast", pytest.param("slow", marks=pytest.mark.slow)])
        def test(tier: str) -> None:
            examples, num = TIERS[tier]

            @settings(
                max_examples=examples,
                deadline=None,
                database=None,
                derandomize=True,
                suppress_health_check=list(HealthCheck),
            )
            @given(seed=st.integers(0, 2**32 - 1), **strategies)
            def search(seed: int, **drawn: object) -> None:
                check(np.random.default_rng(seed), num, **drawn)

            search()

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        return test

    return decorate


dispersions = st.one_of(st.sampled_from([0.0, 0.01, 0.3, 1.0, 3.0]), st.floats(0, 12))
separations = st.one_of(st.sampled_from([1e-3, 0.1, 1.0, 5.0]), st.floats(1e-3, 8))
moves = st.sampled_from([1e-4, 0.03, 0.5, 3.0])


def softmax(scores: np.ndarray, kept: np.ndarray | bool = True) -> np.ndarray:
    shown = np.where(kept, scores, -np.inf)
    weights = np.exp(shown - shown.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def bounded(rng: np.random.Generator, num: int, n: int, delta: float, move: float) -> tuple:
    """Pairs in R^n, both with dispersion at most delta: peaks, corners and insides of the cube, moved along
    few or all axes.
    """
    first = np.where(
        rng.random((num, 1)) < 0.5, rng.integers(0, 2, (num, n)) * delta, rng.random((num, n)) * delta
    )
    signs = rng.choice([-1.0, 1.0], (num, n))
    few = rng.random((num, n)) < rng.choice([0.15, 0.5, 1.0], (num, 1))
    direction = signs * few * np.where(rng.random((num, 1)) < 0.5, 1, rng.random((num, n)))
    # One key above all others, which alone moves: there the l1 constant is nearly met.
    peaked = rng.random((num, 1)) < 0.4
    height = np.minimum(delta, rng.choice([delta, np.log(max(n - 1, 1)) + move / 2], (num, 1)))
    first = np.where(peaked, height * (np.arange(n) == 0), first)
    direction = np.where(peaked, -1.0 * (np.arange(n) == 0), direction)
    second = first + move * direction
    low = np.minimum(0, second.min(-1, keepdims=True)) if delta else second.min(-1, keepdims=True)
    shift = rng.normal(size=(num, 1)) * (rng.random((num, 1)) < 0.3)
    return first, np.clip(second, low, low + delta) + shift


def topk_pairs(
    rng: np.random.Generator, num: int, length: int, k: int, delta: float, gap: float, other: float
) -> tuple:
    """Pairs in R^length whose k highest lie within delta and stand `gap` (the second: `other`) above the rest.

    The second is the first with some kept keys exchanged, moved as little as that needs, so that bounds come close.
    """
    order = np.argsort(rng.random((num, length)), -1)
    swaps = rng.integers(0, min(k, length - k) + 1, (num, 1))
    rank = np.argsort(order, -1)
    kept = rank < k
    kept_too = np.where(rank < k, rank >= swaps, (rank - k) < swaps)
    spread = rng.choice([0.0, 1.0], (num, length)) * (rng.random((num, 1)) < 0.7)
    first = np.where(
        kept, delta * np.where(rng.random((num, 1)) < 0.5, spread, rng.random((num, length))), -gap
    )
    first = np.where(kept, first - np.where(kept, first, np.inf).min(-1, keepdims=True), first)
    deeper = rng.exponential(1, (num, length)) * (rng.random((num, length)) < 0.3)
    first = np.where(kept, first, -gap - deeper)
    base = rng.choice([0.0, 0.0, 1.0], (num, 1)) * rng.normal(size=(num, 1)) * (delta + gap)
    jitter = rng.choice([0.0, 1e-3, 0.3], (num, 1)) * rng.normal(size=(num, length))
    second = np.where(
        kept_too,
        np.clip(first + jitter, base, base + delta),
        np.minimum(first + jitter, base - other),
    )
    lowest = np.where(kept_too, second, np.inf).min(-1, keepdims=True)
    second = np.where(~kept_too & (second > lowest - other), lowest - other, second)
    return first, second, kept, kept_too
