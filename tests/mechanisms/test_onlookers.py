"""Tensors without memory of their own, tracing of operations, other types: the answer of the definition, or a
reason.
"""

from contextlib import nullcontext

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from semfocus import BottomK, Full, TopK, attention
from semfocus.kernels.cpu.library import without_kernels
from semfocus.model import Classifier, ModelConfig
from tests.mechanisms.cases import needs_kernels

LONG = 64  # where 3 keys are few enough to be gathered


def inputs(dtype=torch.float32, length=8):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 4, length, 8, generator=generator).to(dtype) for _ in range(3)]


@pytest.fixture(params=["kernels", "no kernels"])
def _both_ways(request):
    """Whatever this machine has, and what one without kernels has."""
    with nullcontext() if request.param == "kernels" else without_kernels():
        yield


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("length", [8, LONG])
def test_tensors_without_memory_have_a_shape_only(length):
    with FakeTensorMode():
        query = torch.randn(2, 4, length, 8, requires_grad=True)
        output = attention(query, query, query, TopK(3))
        assert output.shape == (2, 4, length, 8)
        assert torch.autograd.grad(output.sum(), query)[0].shape == query.shape
        config = ModelConfig(
            vocab_size=3, num_classes=2, max_length=8, d_model=8, d_mlp=8, num_blocks=1, pattern="top_k(2)"
        )
        assert Classifier(config).eval()(torch.zeros(2, 8, dtype=torch.long)).shape == (2, 2)


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("length", [8, LONG])
def test_a_traced_call_computes_when_it_is_run(length):
    query, key, value = inputs(length=length)
    traced = make_fx(lambda query: attention(query, key, value, TopK(3)))(query)
    other = query.flip(-1)
    torch.testing.assert_close(traced(other), attention(other, key, value, TopK(3)))
    other[0, 0, 0, 0] = torch.nan
    assert torch.equal(traced(other).isnan(), attention(other, key, value, TopK(3)).isnan())


def test_the_negative_of_a_view_is_seen():
    query, key, value = inputs()
    negative = torch._neg_view(query)
    assert torch.equal(attention(negative, key, value, TopK(3)), attention(-query, key, value, TopK(3)))


@needs_kernels
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32_by_the_kernels(dtype):
    query, key, value = (tensor.requires_grad_() for tensor in inputs(dtype))
    gradients = {}
    for implementation in ("native", "reference"):
        output = attention(query, key, value, TopK(3), implementation=implementation)
        assert output.dtype == dtype
        gradients[implementation] = torch.autograd.grad(output.float().square().sum(), (query, key, value))
    for native, reference in zip(*gradients.values(), strict=True):
        assert native.dtype == dtype
        assert torch.allclose(native.float(), reference.float(), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("pattern", [TopK(8), TopK(100), BottomK(8)], ids=str)
def test_all_keys_are_full_attention(pattern):
    query, key, value = inputs()
    assert torch.equal(attention(query, key, value, pattern), attention(query, key, value, Full()))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"scale": torch.tensor(0.3)}, TypeError, "multiply the query by it"),
        ({"scale": float("nan")}, ValueError, "finite number, got nan"),
        ({"scale": "a"}, ValueError, "finite number, got 'a'"),
        ({"mask": torch.ones(8, 8, dtype=torch.bool, device="meta")}, ValueError, "mask is on meta"),
        ({"pattern": torch.ones(8, 8)}, ValueError, "got Tensor; a mask is mask="),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        attention(*inputs(), **{"pattern": TopK(3)} | arguments)


def test_an_array_is_not_a_tensor():
    query, key, value = inputs()
    with pytest.raises(TypeError, match="query must be a tensor, got ndarray"):
        attention(query.numpy(), key, value, TopK(3))


def test_fewer_key_heads_point_to_grouped_queries():
    query, key, value = inputs()
    with pytest.raises(ValueError, match="enable_gqa=True"):
        attention(query, key[:, :2], value[:, :2], TopK(3))
