"""Eigenvalues of known matrices, and products with the Hessian of real models against finite differences."""

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

from semfocus.measurements.landscape.plan import ModelLoss
from semfocus.model import Classifier, ModelConfig
from semfocus.probes.loss_surface.hessian import extreme_eigenvalues, hessian_extremes, hessian_product
from semfocus.randomness import stream
from semfocus.tasks import Samples


def symmetric(values: list[float]) -> Tensor:
    """A matrix with these eigenvalues and random eigenvectors."""
    size = len(values)
    basis, _ = torch.linalg.qr(torch.randn(size, size, generator=stream(3, "basis"), dtype=torch.float64))
    return basis @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ basis.T


def test_extremes_of_a_known_matrix() -> None:
    values = [-3.0, -1.0, *torch.linspace(-0.5, 0.5, 60).tolist(), 5.0, 8.0]
    matrix = symmetric(values)
    found = extreme_eigenvalues(lambda v: matrix @ v, len(values), 2, stream(0, "start"))
    assert found.largest == pytest.approx([8.0, 5.0], abs=1e-6)
    assert found.smallest == pytest.approx([-3.0, -1.0], abs=1e-6)
    assert found.products < len(values)
    assert max(found.largest_residuals + found.smallest_residuals) <= 1e-4 * 8


def test_too_few_products_show_in_the_residuals() -> None:
    values = torch.linspace(0, 1, 200).tolist()
    matrix = symmetric(values)
    found = extreme_eigenvalues(lambda v: matrix @ v, 200, 1, stream(0, "start"), most_products=5)
    assert found.products == 5
    assert found.largest_residuals[0] > 1e-3
    nearest = min(abs(found.largest[0] - value) for value in values)
    assert nearest <= found.largest_residuals[0]


def test_the_residual_is_that_of_the_vector() -> None:
    """A matrix of two blocks: what Lanczos says after k products, checked on the projected problem."""
    matrix = symmetric([1.0, 2.0, 3.0])
    found = extreme_eigenvalues(lambda v: matrix @ v, 3, 5, stream(0, "start"))
    assert found.largest == pytest.approx([3.0, 2.0, 1.0])  # asked for more than there are
    assert found.products == 3


def test_a_product_that_is_not_finite_is_an_error() -> None:
    with pytest.raises(ValueError, match="not finite"):
        extreme_eigenvalues(lambda v: v * torch.nan, 4, 1, stream(0, "start"))


def test_a_quadratic_gives_its_eigenvalues() -> None:
    curvatures = torch.tensor([[4.0, 1.0], [1.0, 2.0]], dtype=torch.float64)

    def part(parameters: Mapping[str, Tensor]) -> Tensor:
        w = torch.cat([parameters["a"], parameters["b"].flatten()])
        return w @ curvatures @ w / 4  # two equal parts

    at = {"a": torch.tensor([0.3]), "b": torch.tensor([[-2.0]])}
    found = hessian_extremes(lambda: [part, part], at, count=1, seed=0)
    expected = torch.linalg.eigvalsh(curvatures)
    assert found.largest == pytest.approx([float(expected[1])])
    assert found.smallest == pytest.approx([float(expected[0])])


def test_a_linear_loss_has_no_curvature() -> None:
    product = hessian_product(
        lambda: [lambda p: 3 * p["w"].sum()], {"w": torch.ones(3), "unused": torch.ones(2)}
    )
    assert product(torch.ones(5, dtype=torch.float64)).tolist() == [0.0] * 5


@pytest.mark.parametrize(
    "pattern", ["full", "top_k(3)", "banded(3)", "block_local(3)+G1", "random(3,fixed)", "top_p(0.8)"]
)
@pytest.mark.parametrize(("projections", "norm", "heads"), [("separate", "pre", 2), ("joint", "post", 1)])
def test_products_equal_finite_differences(pattern: str, projections: str, norm: str, heads: int) -> None:
    """With the kept keys frozen: a step of 1e-6 flips none of them here, or the difference would be far off."""
    config = ModelConfig(
        vocab_size=4, num_classes=2, max_length=7, d_model=8, d_mlp=8, num_blocks=2, num_heads=heads,
        pattern=pattern, projections=projections, norm=norm, activation="gelu",
    )  # fmt: skip
    model = Classifier(config, seed=1)
    tokens = torch.randint(0, 3, (12, 7), generator=stream(0, "tokens"))
    real = torch.ones_like(tokens, dtype=torch.bool)
    real[:3, 5:] = False
    loss = ModelLoss(model, Samples(tokens, tokens[:, 0] % 2, real), seed=0, epoch=0)
    at = {name: tensor.detach() for name, tensor in model.named_parameters()}
    size = sum(tensor.numel() for tensor in at.values())
    along = torch.randn(size, generator=stream(0, "along"), dtype=torch.float64)
    found = hessian_product(loss.parts, at)(along)

    def gradient(step: float) -> Tensor:
        parameters, start = {}, 0
        for name, tensor in at.items():
            piece = along[start : start + tensor.numel()].view(tensor.shape)
            parameters[name] = (tensor.double() + step * piece).requires_grad_()
            start += tensor.numel()
        total = sum(part(parameters) for part in loss.parts())
        assert isinstance(total, Tensor)
        gradients = torch.autograd.grad(total, list(parameters.values()), allow_unused=True)
        return torch.cat([(torch.zeros_like(p) if g is None else g).flatten() for g, p in zip(gradients, parameters.values(), strict=True)])  # fmt: skip

    step = 1e-6
    expected = (gradient(step) - gradient(-step)) / (2 * step)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6 * float(expected.abs().max()))
