"""Scores that are noise, to compare with."""

import pytest
import torch

from semfocus.mechanisms import Full
from semfocus.probes import gaussian_twin
from semfocus.probes.noise import gaussian
from tests.probes.cases import trace_of


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
