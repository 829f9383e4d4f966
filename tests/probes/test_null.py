"""Scores that are noise, to compare with."""

import pytest
import torch

from semfocus.mechanisms import Full
from semfocus.probes import gaussian_null, gaussian_twin
from semfocus.probes.noise import gaussian
from tests.probes.cases import trace_of


@pytest.mark.parametrize(
    ("length", "k", "full", "top", "gap", "random"),
    [
        (40, 5, 4.31, 0.957, 0.121, 2.32),
        (40, 9, 4.32, 1.365, 0.083, 2.97),
        (600, 5, 6.18, 0.657, 0.072, 2.33),
    ],
)
def test_the_published_null(length: int, k: int, full: float, top: float, gap: float, random: float) -> None:
    null = gaussian_null(length, k, n_samples=4000)
    assert null["delta_full"] == pytest.approx(full, rel=0.02)
    assert null["delta_topk"] == pytest.approx(top, rel=0.03)
    assert null["separation"] == pytest.approx(gap, rel=0.06)
    assert null["delta_random"] == pytest.approx(random, rel=0.03)
    assert null["c1"] == null["delta_topk"] / null["delta_full"]
    assert gaussian_null(length, k, n_samples=100, seed=1) != gaussian_null(length, k, n_samples=100)


def test_impossible_nulls_are_refused() -> None:
    with pytest.raises(ValueError, match="1 <= k <= L"):
        gaussian_null(4, 5)


def test_gaussian_numbers_are_gaussian_and_independent_of_chunks() -> None:
    device = torch.device("cpu")
    whole = gaussian(torch.Size((200, 50)), 0, 0, "test", device)
    part = gaussian(torch.Size((10, 50)), 60, 0, "test", device)
    assert torch.equal(part, whole[60:70])
    assert abs(float(whole.mean())) < 0.04
    assert float(whole.std()) == pytest.approx(1.0, abs=0.03)
    assert float((whole.abs() < 1).double().mean()) == pytest.approx(0.6827, abs=0.015)
    assert abs(float((whole[:, 1:] * whole[:, :-1]).mean())) < 0.04


def test_a_twin_has_the_size_of_the_scores_and_the_same_allowed_keys() -> None:
    trace, _ = trace_of(Full(), "causal", 2)
    twins = torch.stack([gaussian_twin(trace, seed=seed).scores for seed in range(400)])
    allowed = trace.scores > -torch.inf
    assert torch.equal(twins[0] > -torch.inf, allowed)
    own, theirs = trace.scores[1, 1, -1], twins[:, 1, 1, -1]
    assert float(theirs.mean()) == pytest.approx(float(own.mean()), abs=0.15 * float(own.std()))
    assert float(theirs.std()) == pytest.approx(float(own.std(correction=0)), rel=0.06)
