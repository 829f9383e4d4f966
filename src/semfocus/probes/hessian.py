"""Products of vectors with the Hessian of a loss, over all parameters at once.

Top-k attention makes the loss piecewise smooth: which keys are kept is a step function, whose derivative is zero
wherever it exists. The Hessian here is that of the piece on which the model stands, with the kept keys frozen.
"""

from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from semfocus.mechanisms.kernels.library import without_kernels
from semfocus.probes.directions import Parameters
from semfocus.probes.lanczos import Extremes, Product, extreme_eigenvalues
from semfocus.randomness import stream

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
