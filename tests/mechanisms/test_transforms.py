"""torch.func and forward-mode derivatives get the derivatives of the definition, not silence."""

import pytest
import torch
from torch.autograd import forward_ad

from semfocus import Banded, Full, TopK, TopP, attention
from semfocus.model import Classifier, ModelConfig
from tests.mechanisms.cases import NATIVE


def inputs():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(2, 1, 6, 4, generator=generator, dtype=torch.float64) for _ in range(3)]


@pytest.mark.parametrize("pattern", [TopK(2), Full()], ids=str)
def test_torch_func_grad_is_the_gradient(pattern):
    query, key, value = inputs()
    leaf = query.clone().requires_grad_()
    attention(leaf, key, value, pattern).square().sum().backward()
    found = torch.func.grad(lambda query: attention(query, key, value, pattern).square().sum())(query)
    assert torch.allclose(found, leaf.grad, atol=1e-12)


def test_forward_mode_keeps_its_tangent():
    query, key, value = inputs()
    direction = torch.ones_like(query)
    step = 1e-6
    difference = (
        attention(query + step * direction, key, value, TopK(2))
        - attention(query - step * direction, key, value, TopK(2))
    ) / (2 * step)
    with forward_ad.dual_level():
        output = attention(forward_ad.make_dual(query, direction), key, value, TopK(2))
        tangent = forward_ad.unpack_dual(output).tangent
    assert tangent is not None
    assert torch.allclose(tangent, difference, atol=1e-6)


@pytest.mark.parametrize("text", ["full", "banded(3)+G1", "top_k(2)+G1", "random(2,fixed)+G2"])
def test_vmap_without_a_mask_is_a_batch(text):
    found = torch.vmap(lambda *rows: attention(*rows, text))(*inputs())
    assert torch.allclose(found, attention(*inputs(), text), atol=1e-12)


@pytest.mark.parametrize("pattern", [TopK(2), Full(), Banded(3), TopP(0.5)], ids=str)
def test_vmap_is_a_batch(pattern):
    mask = torch.rand(2, 6, 6, generator=torch.Generator().manual_seed(1)) > 0.3
    found = torch.vmap(lambda *rows: attention(*rows[:3], pattern, mask=rows[3]))(*inputs(), mask)
    assert torch.allclose(found, attention(*inputs(), pattern, mask=mask[:, None]), atol=1e-12)


def test_vmap_drops_as_it_is_told():
    tensors = [each[:1].repeat(2, 1, 1, 1) for each in inputs()]
    for randomness in ("same", "different"):
        mapped = torch.vmap(lambda *row: attention(*row, TopK(4), dropout=0.5), randomness=randomness)
        first, second = mapped(*tensors)
        assert torch.equal(first, second) == (randomness == "same")


@pytest.mark.parametrize("in_dims", [(0, 0, 0), (0, None, None), (None, 0, 0)], ids=str)
def test_vmap_draws_keys_as_it_is_told(in_dims):
    tensors = [
        each[:1].repeat(4, 1, 1, 1) if dim == 0 else each[0]
        for each, dim in zip(inputs(), in_dims, strict=True)
    ]
    for randomness in ("same", "different"):
        mapped = torch.vmap(lambda *row: attention(*row, "random(2)"), in_dims, randomness=randomness)
        found = mapped(*tensors)
        assert all(torch.equal(found[0], each) for each in found) == (randomness == "same")


@pytest.mark.parametrize("implementation", ["auto", "reference"])
@pytest.mark.parametrize("text", ["top_k(3)", "full", "banded(3)", "top_p(0.5)", "random(2)", "banded(3)+G1"])
def test_tensors_without_numbers_have_a_shape(text, implementation):
    query = torch.empty(2, 40, 4, device="meta")
    mask = torch.ones(40, 40, dtype=torch.bool, device="meta")
    output = attention(query, query, query[..., :3], text, mask=mask, implementation=implementation)
    assert output.shape == (2, 40, 3)
    assert output.is_meta


def test_a_model_can_be_differentiated_by_torch_func():
    model = Classifier(
        ModelConfig(
            vocab_size=3,
            num_classes=2,
            max_length=6,
            d_model=8,
            d_mlp=8,
            num_blocks=1,
            dropout=0.0,
            pattern="top_k(2)",
        ),
        seed=0,
    )
    tokens = torch.randint(2, (3, 6), generator=torch.Generator().manual_seed(0))
    parameters = dict(model.named_parameters())
    gradients = torch.func.grad(
        lambda values: torch.func.functional_call(model, values, (tokens,)).square().sum()
    )(parameters)
    model(tokens).square().sum().backward()
    for name, parameter in parameters.items():
        assert torch.allclose(gradients[name], parameter.grad, atol=1e-5), name


@pytest.mark.parametrize("implementation", [NATIVE, "torch"])
def test_an_implementation_asked_for_says_why_not(implementation):
    query, key, value = inputs()
    with pytest.raises(ValueError, match="PyTorch's own operations"):
        torch.func.grad(
            lambda query: attention(query, key, value, TopK(2), implementation=implementation).sum()
        )(query)
