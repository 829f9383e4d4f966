"""Patterns of positions that are served as full attention under their mask."""

import pytest
import torch

from semfocus import Banded, BlockLocal, Full, Random, TopK, WithGlobals, attention
from semfocus.mechanisms import native
from tests.mechanisms.cases import needs_kernels

PATTERNS = (
    WithGlobals(Banded(5), 1),
    WithGlobals(BlockLocal(4), 3),
    WithGlobals(Full(), 1),
    WithGlobals(Random(3, fixed=True), 2),
    Random(3, fixed=True),
)


def inputs(num_queries=23, num_keys=23):
    generator = torch.Generator().manual_seed(0)
    lengths = (num_queries, num_keys, num_keys, num_queries)
    return [
        torch.randn(2, 3, length, 8, generator=generator, dtype=torch.float64).requires_grad_()
        for length in lengths
    ]


def both(pattern, query, key, value, upstream, **options):
    found = []
    for implementation in ("native", "reference"):
        generator = torch.Generator().manual_seed(1)
        output = attention(
            query, key, value, pattern, implementation=implementation, generator=generator, **options
        )
        found.append((output, *torch.autograd.grad(output, (query, key, value), upstream)))
    return zip(*found, strict=True)


@needs_kernels
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("lengths", [(23, 23), (9, 23), (5, 2)])
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_outputs_gradients_and_dropout_are_those_of_the_definition(pattern, lengths, masked):
    mask = (torch.arange(lengths[1]) < torch.tensor([[lengths[1]], [lengths[1] // 2]]))[:, None, None, :]
    options = {"mask": mask} if masked else {}
    for native_result, reference in both(pattern, *inputs(*lengths), dropout=0.3, **options):
        assert torch.allclose(native_result, reference, rtol=0, atol=1e-12)


@needs_kernels
def test_causal_too():
    for native_result, reference in both(Random(3, fixed=True), *inputs(), causal=True):
        assert torch.allclose(native_result, reference, rtol=0, atol=1e-12)


@needs_kernels
def test_a_nan_of_an_allowed_key_that_is_not_kept_still_counts():
    query, key, value, _ = (tensor.detach() for tensor in inputs())
    key[0, 0, 0, 0] = torch.nan
    output = attention(query, key, value, WithGlobals(Banded(3), 1), implementation="native")
    expected = attention(query, key, value, WithGlobals(Banded(3), 1), implementation="reference")
    assert output[0, 0].isnan().all()
    assert torch.equal(output.isnan(), expected.isnan())


def test_the_mask_is_made_once_and_only_for_short_sequences():
    pattern = WithGlobals(Banded(5), 1)
    assert native.kept_mask(pattern, 23, 23) is native.kept_mask(pattern, 23, 23)
    assert native.serves_as_mask(pattern, 1024, 1024)
    assert not native.serves_as_mask(pattern, 1025, 1024)
    assert not native.serves_as_mask(WithGlobals(TopK(5), 1), 8, 8)


@needs_kernels
def test_a_long_sequence_is_refused_with_the_reason(monkeypatch):
    pattern = WithGlobals(Banded(5), 1)
    monkeypatch.setattr(native, "MOST_ENTRIES", 100)
    query, key, value, _ = inputs()
    with pytest.raises(ValueError, match="at this length"):
        attention(query, key, value, pattern, implementation="native")
    assert not native.has_kernel(pattern)


def test_a_mask_first_made_in_inference_serves_training():
    query, key, value, upstream = inputs(19, 19)
    pattern = WithGlobals(Banded(5), 2)
    with torch.inference_mode():
        attention(query, key, value, pattern)
    torch.autograd.grad(attention(query, key, value, pattern), (query, key, value), upstream)
