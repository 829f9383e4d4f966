"""Automatic mixed precision: the same keys are kept inside and outside of it."""

import pytest
import torch

from semfocus import TopK, TopP, attention
from tests.mechanisms.cases import NATIVE


def inputs():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 2, 12, 8, generator=generator) for _ in range(3)]


@pytest.mark.parametrize("implementation", [NATIVE, "torch", "reference"])
def test_scores_are_not_rounded_by_autocast(implementation):
    query, key, value = inputs()
    expected = attention(query, key, value, TopK(3), implementation=implementation)
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(query, key, value, TopK(3), implementation=implementation)
    assert torch.equal(found, expected)


@pytest.mark.parametrize("pattern", [TopK(3), TopP(0.9)], ids=str)
def test_types_that_autocast_mixed_become_its_own(pattern):
    query, key, value = inputs()
    small = [tensor.bfloat16() for tensor in (query, key, value)]
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(query, small[1], value, pattern)
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, attention(*small, pattern))


def test_outside_of_autocast_mixed_types_are_a_mistake():
    query, key, value = inputs()
    with pytest.raises(ValueError, match="share dtype and device"):
        attention(query, key.bfloat16(), value, TopK(3))
