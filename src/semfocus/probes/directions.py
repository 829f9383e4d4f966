"""Random directions in the space of a model's parameters, each part as long as the parameters it changes."""

import math
from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from semfocus.randomness import stream

Parameters = Mapping[str, Tensor]
Scaling = Literal["tensor", "filter"]
SCALINGS: tuple[Scaling, ...] = ("tensor", "filter")


def direction_pair(
    parameters: Parameters, seed: int, pair: int = 0, scaling: Scaling = "tensor"
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Two independent directions: a function of the seed, the number of the pair, and the parameters' norms.

    Every tensor has its own random stream, so models that differ in one part have the same draws in the others, and
    two models of one seed are looked at along the same directions up to their norms. The two are not made
    orthogonal: the paper's are not, and among so many parameters random directions nearly are.
    """
    if scaling not in SCALINGS:
        raise ValueError(f"scaling must be {' or '.join(SCALINGS)}, got {scaling!r}")
    first, second = (
        {
            name: _scaled(_draw(tensor, stream(seed, f"landscape/{axis}/{name}", pair)), tensor, scaling)
            for name, tensor in parameters.items()
        }
        for axis in ("x", "y")
    )
    return first, second


def _draw(tensor: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(tensor.shape, generator=generator, dtype=torch.float64)


def _scaled(drawn: Tensor, parameter: Tensor, scaling: Scaling) -> Tensor:
    """As long as the tensor (`tensor`), or every row as long as that row (`filter`; a bias has no rows).

    What is zero stays zero: there is no length to give it.
    """
    values = parameter.detach().cpu().double()
    rows = scaling == "filter" and values.dim() > 1
    wanted, drawn_norm = (
        each.flatten(1).norm(dim=1).view(-1, *[1] * (each.dim() - 1)) if rows else each.norm()
        for each in (values, drawn)
    )
    scale = torch.where(drawn_norm > 0, wanted / drawn_norm, torch.zeros_like(wanted))
    return (drawn * scale).to(parameter.dtype).to(parameter.device)


def length(direction: Parameters) -> float:
    """The Euclidean norm over all tensors.

    >>> length({"a": torch.tensor([3.0]), "b": torch.tensor([[4.0]])})
    5.0
    """
    return math.sqrt(sum(float(tensor.detach().double().square().sum()) for tensor in direction.values()))
