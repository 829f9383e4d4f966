"""Curvature of a loss: products with its Hessian over all parameters at once, and its extreme eigenvalues by Lanczos.

Top-k attention makes the loss piecewise smooth: which keys are kept is a step function, whose derivative is zero
wherever it exists. The Hessian here is that of the piece on which the model stands, with the kept keys frozen.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from semfocus.kernels.cpu.library import without_kernels
from semfocus.probes.loss_surface.loss_grid import Parameters
from semfocus.randomness import stream

Product = Callable[[Tensor], Tensor]

#: a residual this small against the largest eigenvalue counts as converged
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Extremes:
    """`largest` from the top down, `smallest` from the bottom up; residuals ||A v - value v|| beside each.

    Between value - residual and value + residual there is an eigenvalue for certain.
    """

    largest: list[float]
    largest_residuals: list[float]
    smallest: list[float]
    smallest_residuals: list[float]
    products: int


def extreme_eigenvalues(
    product: Product,
    size: int,
    count: int,
    generator: torch.Generator,
    most_products: int = 100,
    on_product: Callable[[int], None] = lambda done: None,
) -> Extremes:
    """By Lanczos iteration in float64, each new vector made orthogonal to all earlier ones, twice.

    It ends when all wanted values are converged, when the vectors span everything, or after `most_products`: the
    residuals then say how far it got. A start without a part along an eigenvector cannot find it; a random one has.
    An eigenvalue that occurs several times is found once.
    """
    if count < 1 or size < 1:
        raise ValueError(f"count and size must be at least 1, got {count} and {size}")
    vector = torch.randn(size, generator=generator, dtype=torch.float64)
    basis = [vector / vector.norm()]
    diagonal: list[float] = []
    beside: list[float] = []
    while True:
        image = product(basis[-1])
        if not bool(image.isfinite().all()):
            raise ValueError("a product with the matrix is not finite: there are no eigenvalues to find")
        diagonal.append(float(image @ basis[-1]))
        on_product(len(diagonal))
        known = torch.stack(basis)
        for _ in range(2):
            image = image - known.T @ (known @ image)
        rest = float(image.norm())
        values, vectors = _tridiagonal(diagonal, beside)
        scale = float(values.abs().max())
        # What follows from theory may be far below what rounding allows.
        rounding = len(diagonal) * torch.finfo(torch.float64).eps * scale
        residuals = (rest * vectors[-1].abs()).clamp(min=rounding)
        exhausted = rest <= 1e-12 * scale or len(diagonal) == size
        wanted = torch.cat([residuals[:count], residuals[-count:]])
        done = len(diagonal) >= min(2 * count, size) and bool((wanted <= TOLERANCE * scale).all())
        if exhausted or done or len(diagonal) >= most_products:
            break
        beside.append(rest)
        basis.append(image / rest)
    return Extremes(
        largest=values.flip(0)[:count].tolist(),
        largest_residuals=residuals.flip(0)[:count].tolist(),
        smallest=values[:count].tolist(),
        smallest_residuals=residuals[:count].tolist(),
        products=len(diagonal),
    )


def _tridiagonal(diagonal: list[float], beside: list[float]) -> tuple[Tensor, Tensor]:
    """Eigenvalues in ascending order, and eigenvectors as columns."""
    matrix = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    off = torch.tensor(beside, dtype=torch.float64)
    matrix += torch.diag(off, 1) + torch.diag(off, -1)
    values, vectors = torch.linalg.eigh(matrix)
    return values, vectors


#: a part of the loss, differentiable, as a function of the parameters; the loss is the sum of its parts
LossPart = Callable[[Mapping[str, Tensor]], Tensor]


def hessian_product(parts: Callable[[], Iterable[LossPart]], at: Parameters) -> Product:
    """v -> H v in float64, by differentiating the product of gradient and v, one part of the loss at a time."""
    parameters = {name: tensor.detach().double().requires_grad_() for name, tensor in at.items()}
    tensors = list(parameters.values())
    sizes = [tensor.numel() for tensor in tensors]

    def product(vector: Tensor) -> Tensor:
        along = [
            piece.view(tensor.shape).to(tensor.device)
            for piece, tensor in zip(vector.split(sizes), tensors, strict=True)
        ]
        total = torch.zeros(sum(sizes), dtype=torch.float64)
        # The compiled kernels have no second derivative; PyTorch's own operations do.
        with without_kernels(), torch.enable_grad():
            for part in parts():
                total += _flat(_product_of_part(part(parameters), tensors, along), tensors)
        return total

    return product


def _product_of_part(loss: Tensor, tensors: list[Tensor], along: list[Tensor]) -> tuple[Tensor | None, ...]:
    gradients = torch.autograd.grad(loss, tensors, create_graph=True, allow_unused=True)
    terms = [
        (gradient * piece).sum()
        for gradient, piece in zip(gradients, along, strict=True)
        if gradient is not None
    ]
    slope = torch.stack(terms).sum() if terms else loss * 0.0
    if not slope.requires_grad:  # a loss that is linear, or constant, here
        return tuple(None for _ in tensors)
    return torch.autograd.grad(slope, tensors, allow_unused=True)


def _flat(pieces: tuple[Tensor | None, ...], like: list[Tensor]) -> Tensor:
    return torch.cat(
        [
            (torch.zeros_like(tensor) if piece is None else piece).detach().flatten().cpu()
            for piece, tensor in zip(pieces, like, strict=True)
        ]
    )


def hessian_extremes(
    parts: Callable[[], Iterable[LossPart]],
    at: Parameters,
    count: int,
    seed: int,
    most_products: int = 100,
    on_product: Callable[[int], None] = lambda done: None,
) -> Extremes:
    """The `count` largest and smallest eigenvalues of the Hessian; the start vector comes from the seed."""
    size = sum(tensor.numel() for tensor in at.values())
    generator = stream(seed, "hessian")
    return extreme_eigenvalues(hessian_product(parts, at), size, count, generator, most_products, on_product)
